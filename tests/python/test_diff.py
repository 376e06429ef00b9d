"""What `safetensors diff` says of random models is what numpy says."""

import json

import numpy
import pytest
import safetensors.numpy
from support import run

pytestmark = [pytest.mark.main, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

# All of them have values that a double holds.
DTYPES = [numpy.float64, numpy.float32, numpy.float16, numpy.int32, numpy.uint16, numpy.int8, numpy.uint8]
SHAPES = [(), (1,), (7,), (3, 5), (2, 0, 4), (70_001,), (40, 30, 20)]


def pair(chance, shape, first, second):
    """Returns values of one dtype, and of another: some equal, some near, some not finite."""
    values = chance.integers(-100, 100, shape) / (8 if chance.random() < 0.5 else 1)
    a = numpy.asarray(values, first)
    b = numpy.array(a, second)
    for array in (a, b):
        if array.size and chance.random() < 0.5:
            places = chance.integers(array.size, size=3)
            array.reshape(-1)[places] = numpy.asarray(chance.integers(0, 127, 3)).astype(array.dtype)
            if array.dtype.kind == "f" and chance.random() < 0.3:
                array.reshape(-1)[places[:2]] = chance.choice([numpy.nan, numpy.inf, -numpy.inf], 2)
    return a, b


def measured(a, b):
    """Measures by numpy; nothing for the same bytes of the same dtype."""
    if a.dtype == b.dtype and a.tobytes() == b.tobytes():
        return {"result": "identical"}
    a, b = numpy.ravel(a).astype(numpy.float64), numpy.ravel(b).astype(numpy.float64)
    unequal = ~((a == b) | (numpy.isnan(a) & numpy.isnan(b)))
    strange = unequal & ~(numpy.isfinite(a) & numpy.isfinite(b))
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


def test_differences_are_those_of_numpy(place, dice):
    chance = numpy.random.default_rng(dice.getrandbits(32))
    a, b = {}, {}
    for shape in SHAPES:
        for first in DTYPES:
            for second in DTYPES:
                name = f"{shape} {first.__name__} {second.__name__}"
                a[name], b[name] = pair(chance, shape, first, second)
    for name, tensors in (("a", a), ("b", b)):
        safetensors.numpy.save_file(tensors, name)
    rows = json.loads(run("diff", "--json", "a", "b", code=1))["tensors"]
    assert sorted(row["name"] for row in rows) == sorted(a)
    for row in rows:
        expected = measured(a[row["name"]], b[row["name"]])
        found = {key: row[key] for key in expected}
        # Sums depend on the order of the summands.
        assert found == (expected if "result" in expected else pytest.approx(expected, rel=1e-12, abs=0)), row["name"]
