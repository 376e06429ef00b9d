"""Compares what the command makes of values with what numpy, ml_dtypes and safetensors make of them.

python3 values.py [--seed N] -- PROGRAM

PROGRAM is the command `safetensors`. Casts are compared bit for bit, arrays in every form that numpy writes, texts by
reading them back, slices by numpy's own. The same seed asks the same. Ends non-zero on a difference.
"""

import argparse
import fractions
import io
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

import ml_dtypes
import numpy
import safetensors
import safetensors.numpy

NUMPY = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "u2", "I16": "i2", "F16": "f2", "U32": "u4", "I32": "i4",
    "F32": "f4", "U64": "u8", "I64": "i8", "F64": "f8", "C64": "c8",
}
OTHERS = {
    "BF16": ml_dtypes.bfloat16, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}
TYPES = {name: numpy.dtype(spelled) for name, spelled in (NUMPY | OTHERS).items()}
FLOATS = ["F64", "F32", "F16", *OTHERS]
INTEGERS = ["U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64"]


class Checks:
    """Counts, and tells of what differs."""

    def __init__(self, program):
        self.program, self.done, self.wrong = program, 0, 0

    def run(self, *arguments, code=0):
        run = subprocess.run([self.program, *map(str, arguments)], capture_output=True, check=False)
        if run.returncode != code:
            self.check(False, f"{arguments}: ended with {run.returncode}: {run.stderr.decode()}")
        return run.stdout

    def check(self, holds, what):
        self.done += 1
        if not holds:
            self.wrong += 1
            print(f"differs: {what}", file=sys.stderr)


def write_model(path, tensors):
    """Of (name, dtype, array), in this order, by hand: the reference knows fewer dtypes."""
    header, data = {}, b""
    for name, dtype, array in tensors:
        begin, data = len(data), data + array.tobytes()
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_model(path):
    """By the reference, as (dtype, array of numpy or ml_dtypes)."""
    tensors = {}
    for name, tensor in safetensors.deserialize(path.read_bytes()):
        array = numpy.frombuffer(bytes(tensor["data"]), TYPES[tensor["dtype"]])
        tensors[name] = (tensor["dtype"], array.reshape(tensor["shape"]))
    return tensors


def bits(array):
    return numpy.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def same_bits(ours, theirs):
    """NaNs by their being one, and their sign where there are two."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return False
    equal = bits(ours) == bits(theirs)
    if ours.dtype.kind in "iub":
        return bool(equal.all())
    both_nan = numpy.isnan(ours) & numpy.isnan(theirs)
    return bool((equal | both_nan).all())


def interesting(dtype, dice):
    """All values of a narrow dtype; of a wide one the edges of all narrower ones, ties, neighbours and random bits."""
    width = dtype.itemsize
    if width <= 2:
        return numpy.arange(256**width, dtype=f"u{width}").view(dtype)
    patterns = numpy.array([dice.getrandbits(8 * width) for _ in range(20000)], dtype=f"u{width}").view(dtype)
    if dtype.kind in "iu":
        small = numpy.array([dice.randint(0, 70000) for _ in range(5000)]).astype(dtype)
        edges = numpy.array([1 << n for n in range(8 * width - 1)], dtype=dtype)
        return numpy.concatenate([patterns, small, edges, edges - 1, edges + 1, numpy.zeros(1, dtype)])
    halves = numpy.arange(65536, dtype="u2").view("f2").astype(dtype)
    brains = numpy.arange(65536, dtype="u2").view(ml_dtypes.bfloat16).astype(dtype)
    grid = numpy.concatenate([halves, brains])
    grid = grid[numpy.isfinite(grid)]
    ties = numpy.concatenate([(grid[:-1] + grid[1:]) / 2, grid])
    around = [numpy.nextafter(ties, dtype.type(numpy.inf)), numpy.nextafter(ties, dtype.type(-numpy.inf))]
    values = numpy.concatenate([patterns, ties, *around])
    if width == 8:
        # What single precision has: by way of it ml_dtypes rounds twice.
        singles = values.astype("f4").astype("f8")
        return numpy.concatenate([singles, values])
    return values


def expected_cast(array, to):
    """What numpy has for it, rounded to the nearest and clamped as --saturate does; other NaNs become 0."""
    dtype = TYPES[to]
    if to in INTEGERS:
        limits = numpy.iinfo(dtype)
        if array.dtype.kind in "iub":
            return numpy.array([min(max(int(value), limits.min), limits.max) for value in array], dtype=dtype)
        rounded = numpy.rint(array.astype("f8"))
        whole = [0 if value != value else limits.max if value >= limits.max else limits.min if value <= limits.min
                 else int(value) for value in rounded.tolist()]
        return numpy.array(whole, dtype=dtype)
    return array.astype(dtype)


def wide_enough(name, to, array):
    """Without those that other programs round twice, and those whose overflow is another matter."""
    if to in OTHERS or (to == "F16" and array.dtype.kind in "iu"):
        if array.dtype == numpy.float64:
            array = array[(array.astype("f4").astype("f8") == array) | numpy.isnan(array)]
        if array.dtype.kind in "iu" and array.dtype.itemsize > 3:
            array = array[numpy.abs(array.astype("f8")) < 2**24]
    if to in OTHERS and to != "BF16" or to == "F16" or (to in FLOATS and array.dtype.kind in "iu"):
        limit = float(ml_dtypes.finfo(TYPES[to]).max)
        as_doubles = array.astype("f8")
        array = array[(numpy.abs(as_doubles) <= limit) | (numpy.isnan(as_doubles))]
    return array


def check_casts(checks, folder, dice):
    source, result = folder / "in.safetensors", folder / "out.safetensors"
    for name in [*FLOATS, *INTEGERS]:
        values = interesting(TYPES[name], dice)
        for to in [*FLOATS, *INTEGERS]:
            if to == name:
                continue
            array = wide_enough(name, to, values)
            write_model(source, [("a", name, array)])
            options = ["--all"] + (["--saturate"] if to in INTEGERS else [])
            checks.run("convert", source, result, "--to", to, "--force", *options)
            theirs = expected_cast(array, to)
            ours = read_model(result)["a"][1]
            checks.check(same_bits(ours, theirs), f"{name} to {to}: {differing(array, ours, theirs)}")


def differing(array, ours, theirs):
    if ours.shape != theirs.shape:
        return f"shapes {ours.shape} and {theirs.shape}"
    wrong = numpy.flatnonzero(bits(ours) != bits(theirs))[:5]
    return [(array[at], ours[at], theirs[at]) for at in wrong]


def nearest(value, dtype):
    """Exact, of two as near ones the even one: found among the neighbours of what others make of it."""
    close = int(bits(numpy.array(float(value)).astype("f4").astype(dtype).reshape(1))[0])
    candidates = [pattern for pattern in range(max(close - 2, 0), close + 3)]
    patterns = numpy.array(candidates, dtype=f"u{dtype.itemsize}").view(dtype).astype("f8").tolist()
    fits = [(abs(fractions.Fraction(number) - value), pattern & 1, pattern)
            for number, pattern in zip(patterns, candidates, strict=True) if numpy.isfinite(number)]
    return min(fits)[2]


def check_double_rounding(checks, folder, dice):
    """Next to the middle between two numbers, where rounding two times gives the wrong one."""
    source, result = folder / "in.safetensors", folder / "out.safetensors"
    for to in ["F16", *OTHERS]:
        dtype = TYPES[to]
        highest = int(bits(numpy.array([ml_dtypes.finfo(dtype).max], dtype=dtype))[0])
        patterns = numpy.array([dice.randrange(1, highest) for _ in range(500)], dtype=f"u{dtype.itemsize}")
        below, above = patterns.view(dtype).astype("f8"), (patterns + 1).astype(patterns.dtype).view(dtype).astype("f8")
        middles = (below + above) / 2
        around = [numpy.nextafter(middles, numpy.inf), numpy.nextafter(middles, -numpy.inf)]
        values = {"F64": numpy.concatenate([middles, *around])}
        if to == "BF16":
            tops = numpy.array([(257 + 2 * dice.randrange(128)) << 54 for _ in range(200)], dtype="i8") >> 1
            values["I64"] = numpy.concatenate([tops, tops + 1, tops - 1])
        for name, array in values.items():
            write_model(source, [("a", name, array)])
            checks.run("convert", source, result, "--to", to, "--all", "--force")
            theirs = [nearest(fractions.Fraction(value), dtype) for value in array.tolist()]
            ours = bits(read_model(result)["a"][1]).tolist()
            checks.check(ours == theirs, f"{name} to {to}, rounded once")


def check_overflow(checks, folder):
    """Infinities where there are any, the largest with --saturate."""
    source, result = folder / "in.safetensors", folder / "out.safetensors"
    array = numpy.array([1e30, -1e30, 65519.0, 65520.0, -65536.0, numpy.inf], dtype="f4")
    write_model(source, [("a", "F32", array)])
    checks.run("convert", source, result, "--to", "F16", "--force")
    checks.check(same_bits(read_model(result)["a"][1], array.astype("f2")), "infinities of F16")
    checks.run("convert", source, result, "--to", "F16", "--saturate", "--force")
    finite = numpy.clip(array[:5], -65504, 65504).astype("f2")
    checks.check(same_bits(read_model(result)["a"][1][:5], finite), "the largest F16")
    checks.run("convert", source, result, "--to", "F8_E4M3", "--force", code=2)
    checks.run("convert", source, result, "--to", "I16", "--force", code=2)


def check_bits(checks, folder):
    """What goes out as bits comes back, and so do arrays as ml_dtypes has numpy save them."""
    source, archive, back = folder / "in.safetensors", folder / "bits.npz", folder / "back.safetensors"
    for name, other in OTHERS.items():
        array = numpy.arange(256 ** other(0).dtype.itemsize).astype(f"u{other(0).dtype.itemsize}").view(other)
        write_model(source, [("a", name, array)])
        checks.run("convert", source, archive, "--bits", "--force")
        checks.run("convert", archive, back, "--from-bits", name, "--force")
        checks.check(numpy.array_equal(bits(read_model(back)["a"][1]), bits(array)), f"the bits of {name} and back")
        numpy.save(folder / "a.npy", array)
        # Only F8_E5M2 has a name of its own in numpy's files.
        checks.run("convert", folder / "a.npy", back, "--force", code=0 if name == "F8_E5M2" else 2)
        checks.run("convert", folder / "a.npy", back, "--from-bits", name, "--force")
        checks.check(numpy.array_equal(bits(read_model(back)["a"][1]), bits(array)), f"{name} as ml_dtypes saves it")


def check_nans(checks, folder):
    """All of them stay NaN and become quiet, with the upper bits of their payload: where others do something else."""
    source, result = folder / "in.safetensors", folder / "out.safetensors"
    array = numpy.array([0x7F812345, 0xFF812345, 0x7FFFFFFF, 0x7F800001, 0x7FC00000], dtype="u4")
    write_model(source, [("a", "F32", array.view("f4"))])
    for to, shift, quiet in (("F16", 13, 0x7E00), ("BF16", 16, 0x7FC0)):
        checks.run("convert", source, result, "--to", to, "--force")
        payload = ((array & 0x7FFFFF) >> shift).astype("u2")
        expected = payload | quiet | ((array >> 16) & 0x8000).astype("u2")
        checks.check(numpy.array_equal(bits(read_model(result)["a"][1]), expected), f"NaNs of {to}")


def random_shape(dice):
    return tuple(dice.choice([0, 1, 2, 3, 5]) if dice.random() < 0.9 else 40 for _ in range(dice.randint(0, 5)))


def random_array(dice, dtype, shape):
    count = int(numpy.prod(shape, dtype=int))
    if dtype.kind == "b":
        return numpy.array([dice.random() < 0.5 for _ in range(count)], dtype=dtype).reshape(shape)
    return numpy.frombuffer(dice.randbytes(count * dtype.itemsize), dtype).reshape(shape)


def numpy_forms(dice, array):
    """The same array in another order, and with its bytes in another one."""
    if array.ndim and dice.random() < 0.5:
        array = numpy.asfortranarray(array)
    return array.astype(array.dtype.newbyteorder(dice.choice("<>")))


def check_arrays(checks, folder, dice):
    model, back = folder / "model.safetensors", folder / "back.npz"
    for round_ in range(40):
        plain = {}
        for index, dtype in enumerate(NUMPY.values()):
            plain[f"t{index}/{dtype}"] = random_array(dice, numpy.dtype(dtype), random_shape(dice))
        forms = {name: numpy_forms(dice, array) for name, array in plain.items()}
        save = numpy.savez if round_ % 2 else numpy.savez_compressed
        save(folder / "arrays.npz", **forms)
        checks.run("convert", folder / "arrays.npz", model, "--force")
        loaded = safetensors.numpy.load_file(model)
        checks.check(sorted(loaded) == sorted(plain), "the names of an archive")
        for name, array in plain.items():
            checks.check(exact(loaded[name], array), f"{name} {array.shape} of an archive")
        checks.run("convert", model, back, "--force", *(["--compress"] if round_ % 3 else []))
        with zipfile.ZipFile(back) as archive:
            checks.check(archive.testzip() is None, "sums of an archive")
        with numpy.load(back) as archive:
            checks.check(sorted(archive) == sorted(plain), "the names of our archive")
            for name, array in plain.items():
                checks.check(exact(archive[name], array), f"{name} of our archive")


def exact(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def check_single_arrays(checks, folder, dice):
    """Each version of the header; and our own file byte for byte."""
    array_file, model, back = folder / "a.npy", folder / "a.safetensors", folder / "b.npy"
    for dtype in NUMPY.values():
        for version in [(1, 0), (2, 0), (3, 0)]:
            array = random_array(dice, numpy.dtype(dtype), random_shape(dice))
            with open(array_file, "wb") as file:
                numpy.lib.format.write_array(file, numpy_forms(dice, array), version)
            checks.run("convert", array_file, model, "--force")
            checks.check(exact(safetensors.numpy.load_file(model)["a"], array), f"{dtype} {array.shape} {version}")
            checks.run("convert", model, back, "--force")
            theirs = io.BytesIO()
            numpy.save(theirs, array)
            checks.check(back.read_bytes() == theirs.getvalue(), f"the bytes of {dtype} {array.shape}")
    big = numpy.asfortranarray(numpy.arange(3_000_000, dtype=">f4").reshape(1000, 3000))
    numpy.save(array_file, big)
    checks.run("convert", array_file, model, "--force")
    checks.check(exact(safetensors.numpy.load_file(model)["a"], big.astype("<f4", order="C")), "a large array, turned")
    deep = numpy.asfortranarray(numpy.arange(1_500_000, dtype="<u4").reshape(50, 3, 100, 100))
    numpy.savez(folder / "deep.npz", a=deep)
    checks.run("convert", folder / "deep.npz", model, "--force")
    checks.check(exact(safetensors.numpy.load_file(model)["a"], deep.astype("<u4", order="C")), "a deep array, turned")


def random_spec(dice, shape):
    parts, spelled = [], []
    front = dice.randint(0, len(shape))
    behind = dice.randint(front, len(shape))
    for axis, size in enumerate(shape):
        if axis == front:
            parts.append(...)
            spelled.append("...")
        if front <= axis < behind:
            continue
        if size and dice.random() < 0.3:
            index = dice.randrange(-size, size)
            parts.append(index)
            spelled.append(str(index))
        else:
            ends = [dice.choice([None, dice.randint(-size - 2, size + 2)]) for _ in range(2)]
            step = dice.choice([None, 1, 2, 3])
            parts.append(slice(*ends, step))
            spelled.append(":".join("" if part is None else str(part) for part in [*ends, step]))
    return tuple(parts), ",".join(spelled)


def check_slices(checks, folder, dice):
    source, result = folder / "in.safetensors", folder / "out.safetensors"
    for _ in range(150):
        dtype = dice.choice(sorted(NUMPY))
        array = random_array(dice, TYPES[dtype], random_shape(dice))
        write_model(source, [("a", dtype, array)])
        parts, spec = random_spec(dice, array.shape)
        theirs = numpy.asarray(array[parts])
        checks.run("slice", source, f"a={spec}", "-o", result, "--force")
        checks.check(exact(read_model(result)["a"][1], theirs), f"slice {spec} of {array.shape}")
        ours = numpy.load(io.BytesIO(checks.run("cat", source, "a", f"--slice={spec}", "--format", "npy")))
        checks.check(exact(ours, theirs), f"cat {spec} of {array.shape}")


WORDS = {"nan": float("nan"), "inf": float("inf"), "nanj": complex(0, float("nan")), "infj": complex(0, float("inf"))}


def check_texts(checks, folder, dice):
    source = folder / "in.safetensors"
    for name, dtype in TYPES.items():
        values = numpy.frombuffer(dice.randbytes(6000 * dtype.itemsize), dtype)
        if name == "BOOL":
            values = random_array(dice, dtype, (6000,))
        if name == "C64":
            values = values[numpy.isfinite(values)][:4000]
        array = values[: len(values) // 100 * 100].reshape(2, -1, 50)
        write_model(source, [("a", name, array)])
        text = checks.run("cat", source, "a").decode()
        whole = object if dtype.kind in "iu" else None
        read = numpy.array(eval(text, {"__builtins__": {}}, WORDS), dtype=whole)  # noqa: S307: our own output
        checks.check(same_values(read, array), f"the text of {name}")
        checks.check(text.count("\n") == array.shape[0] * array.shape[1] + 1, f"the lines of {name}")
        values = json.loads(checks.run("cat", source, "a", "--json"))["values"]
        if name != "C64":
            words = numpy.array(values, dtype=object)
            numbers = [float(value) if isinstance(value, str) else value for value in words.ravel()]
            checks.check(same_values(numpy.array(numbers, dtype=whole).reshape(array.shape), array), f"the JSON of {name}")


def same_values(read, array):
    read = read.astype(array.dtype)
    if array.dtype.kind == "c":
        return bool(numpy.array_equal(read.view("f4"), array.view("f4")))
    if array.dtype.kind in "iub":
        return bool(numpy.array_equal(read, array))
    not_a_number = numpy.isnan(array)
    return bool(((bits(read) == bits(array)) | (not_a_number & numpy.isnan(read))).all())


def check_quantisation(checks, folder, dice):
    source, packed, back = folder / "in.safetensors", folder / "i8.safetensors", folder / "back.safetensors"
    for scale, shape in [("per-tensor", (40, 30)), ("per-row", (40, 30)), ("per-row", (7, 2, 3)), ("per-tensor", ())]:
        array = numpy.array([dice.gauss(0, 3) for _ in range(int(numpy.prod(shape, dtype=int)))], dtype="f4")
        array = array.reshape(shape)
        write_model(source, [("w", "F32", array)])
        checks.run("convert", source, packed, "--to", "I8", "--scale", scale, "--force")
        ours = read_model(packed)
        rows = array.reshape(shape[0] if shape else 1, -1) if scale == "per-row" else array.reshape(1, -1)
        scales = (numpy.abs(rows.astype("f8")).max(axis=1) / 127).astype("f4")
        steps = numpy.rint(rows.astype("f8") / scales.astype("f8")[:, None]).astype("i1").reshape(shape)
        kept = scales.reshape(()) if scale == "per-tensor" else scales
        checks.check(exact(ours["w"][1], steps), f"{scale} of {shape}")
        checks.check(exact(ours["w.scale"][1], kept), f"scales {scale} of {shape}")
        checks.run("convert", packed, back, "--to", "F32", "--unscale", "--force")
        products = (steps.reshape(rows.shape) * scales.astype("f8")[:, None]).astype("f4").reshape(shape)
        again = read_model(back)
        checks.check(sorted(again) == ["w"] and exact(again["w"][1], products), f"back {scale} of {shape}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("program")
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    checks, dice = Checks(options.program), random.Random(seed)
    numpy.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        check_casts(checks, folder, dice)
        check_double_rounding(checks, folder, dice)
        check_overflow(checks, folder)
        check_bits(checks, folder)
        check_nans(checks, folder)
        check_arrays(checks, folder, dice)
        check_single_arrays(checks, folder, dice)
        check_slices(checks, folder, dice)
        check_texts(checks, folder, dice)
        check_quantisation(checks, folder, dice)
    print(f"{checks.done} comparisons, {checks.wrong} differ; --seed {seed}")
    return 1 if checks.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
