"""Compares what `safetensors diff` says of random models with what numpy says.

python3 diff.py [--seed N] -- PROGRAM

PROGRAM is the command `safetensors`. Ends non-zero on a difference.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import safetensors.numpy

#: All of them have values that a double holds.
DTYPES = [numpy.float64, numpy.float32, numpy.float16, numpy.int32, numpy.uint16, numpy.int8, numpy.uint8]
SHAPES = [(), (1,), (7,), (3, 5), (2, 0, 4), (70_001,), (40, 30, 20)]


def main():
    """Two models of all pairs of dtypes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("program", type=pathlib.Path)
    options = parser.parse_args()
    chance = numpy.random.default_rng(options.seed)
    a, b = {}, {}
    for shape in SHAPES:
        for first in DTYPES:
            for second in DTYPES:
                name = f"{shape} {first.__name__} {second.__name__}"
                a[name], b[name] = pair(chance, shape, first, second)
    compared = ask(str(options.program.resolve()), a, b)
    wrong = sum(differs(row, a[row["name"]], b[row["name"]]) for row in compared["tensors"])
    wrong += len(compared["tensors"]) != len(a)
    print(f"diff.py: {len(a)} pairs, {wrong} differences")
    return 1 if wrong else 0


def pair(chance, shape, first, second):
    """Values of one dtype, and of another: some equal, some near, some not finite."""
    values = chance.integers(-100, 100, shape) / (8 if chance.random() < 0.5 else 1)
    with numpy.errstate(all="ignore"):
        a = numpy.asarray(values, first)
        b = numpy.array(a, second)
        for array in (a, b):
            if array.size and chance.random() < 0.5:
                places = chance.integers(array.size, size=3)
                array.reshape(-1)[places] = numpy.asarray(chance.integers(0, 127, 3)).astype(array.dtype)
                if array.dtype.kind == "f" and chance.random() < 0.3:
                    array.reshape(-1)[places[:2]] = chance.choice([numpy.nan, numpy.inf, -numpy.inf], 2)
    return a, b


def ask(program, a, b):
    """What the command says of two models."""
    with tempfile.TemporaryDirectory() as place:
        for name, tensors in (("a", a), ("b", b)):
            safetensors.numpy.save_file(tensors, f"{place}/{name}")
        done = subprocess.run([program, "diff", "--json", "a", "b"], cwd=place, capture_output=True, check=False)
        return json.loads(done.stdout)


def differs(row, a, b):
    """Whether numpy says something else of two tensors; says what."""
    expected = measured(a, b)
    if expected is None:
        found = None if row["result"] == "identical" else row["result"]
    else:
        found = {key: row[key] for key in expected if key in row}
    same = found == expected or (expected and found and near(found, expected))
    if not same:
        print(f"{row['name']}: {found}, numpy: {expected}")
    return not same


def measured(a, b):
    """By numpy; nothing for the same bytes of the same dtype."""
    if a.dtype == b.dtype and a.tobytes() == b.tobytes():
        return None
    a, b = numpy.ravel(a).astype(numpy.float64), numpy.ravel(b).astype(numpy.float64)
    unequal = ~((a == b) | (numpy.isnan(a) & numpy.isnan(b)))
    strange = unequal & ~(numpy.isfinite(a) & numpy.isfinite(b))
    with numpy.errstate(all="ignore"):
        gap = numpy.where(unequal & ~strange, abs(a - b), 0.0)
        part = numpy.where(gap > 0, gap / numpy.maximum(abs(a), abs(b)), 0.0)
    finite = a.size - int(strange.sum())
    return {
        "values": a.size,
        "differing": int(unequal.sum()),
        "not_finite": int(strange.sum()),
        "max_abs": float(gap.max(initial=0.0)),
        "mean_abs": float(gap.sum() / finite) if finite else 0.0,
        "max_relative": float(part.max(initial=0.0)),
    }


def near(found, expected):
    """Sums depend on the order of the summands."""
    return found.keys() == expected.keys() and all(abs(found[key] - expected[key]) <= 1e-12 * abs(expected[key]) for key in found)


if __name__ == "__main__":
    sys.exit(main())
