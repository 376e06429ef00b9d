"""What the command makes of values is what numpy, ml_dtypes and safetensors make of them.

Casts are compared bit for bit, arrays in every form that numpy writes, texts by reading them back.
"""

import fractions
import io
import pathlib
import zipfile

import ml_dtypes
import numpy
import pytest
import safetensors
import safetensors.numpy
from support import exact, run, write_model

pytestmark = [pytest.mark.main, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

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


SOURCE, RESULT, BACK = map(pathlib.Path, ["in.safetensors", "out.safetensors", "back.safetensors"])


def write(name, array):
    """Writes SOURCE with this array, by hand: the reference knows fewer dtypes."""
    write_model(SOURCE, {"a": (name, array.shape, array.tobytes())})


def read(path):
    """Reads a file by the reference, as arrays of numpy or ml_dtypes."""
    found = safetensors.deserialize(path.read_bytes())
    return {name: numpy.frombuffer(bytes(one["data"]), TYPES[one["dtype"]]).reshape(one["shape"]) for name, one in found}


def converted(source, *options):
    """Converts a file, and returns the array `a` of the result."""
    run("convert", source, RESULT, "--force", *options)
    return read(RESULT)["a"]


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


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_casts(name, place, dice):
    values = interesting(TYPES[name], dice)
    for to in [*FLOATS, *INTEGERS]:
        if to != name:
            array = wide_enough(name, to, values)
            write(name, array)
            options = ["--all"] + (["--saturate", "--allow-zeros"] if to in INTEGERS else [])
            ours, theirs = converted(SOURCE, "--to", to, *options), expected_cast(array, to)
            assert same_bits(ours, theirs), f"{name} to {to}: {differing(array, ours, theirs)}"


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


@pytest.mark.parametrize("to", ["F16", *OTHERS])
def test_casts_round_once(to, place, dice):
    """Next to the middle between two numbers, rounding two times gives the wrong one."""
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
        write(name, array)
        theirs = [nearest(fractions.Fraction(value), dtype) for value in array.tolist()]
        assert bits(converted(SOURCE, "--to", to, "--all")).tolist() == theirs, name


def test_overflow(place):
    """Infinities where there are any, the largest with --saturate."""
    array = numpy.array([1e30, -1e30, 65519.0, 65520.0, -65536.0, numpy.inf], dtype="f4")
    write("F32", array)
    assert same_bits(converted(SOURCE, "--to", "F16"), array.astype("f2"))
    finite = numpy.clip(array[:5], -65504, 65504).astype("f2")
    assert same_bits(converted(SOURCE, "--to", "F16", "--saturate")[:5], finite)
    run("convert", SOURCE, RESULT, "--to", "F8_E4M3", "--force", code=2)
    run("convert", SOURCE, RESULT, "--to", "I16", "--force", code=2)


@pytest.mark.parametrize("name", OTHERS)
def test_bits(name, place):
    """What goes out as bits comes back, and so do arrays as ml_dtypes has numpy save them."""
    unsigned = f"u{TYPES[name].itemsize}"
    array = numpy.arange(256 ** TYPES[name].itemsize).astype(unsigned)
    write(name, array)
    run("convert", SOURCE, "bits.npz", "--bits")
    assert numpy.array_equal(bits(converted("bits.npz", "--from-bits", name)), array)
    numpy.save("a.npy", array.view(TYPES[name]))
    # Only F8_E5M2 has a name of its own in numpy's files.
    run("convert", "a.npy", BACK, code=0 if name == "F8_E5M2" else 2)
    assert numpy.array_equal(bits(converted("a.npy", "--from-bits", name)), array)


@pytest.mark.parametrize(("to", "shift", "quiet"), [("F16", 13, 0x7E00), ("BF16", 16, 0x7FC0)])
def test_nans(to, shift, quiet, place):
    """They stay NaN and become quiet, with the upper bits of their payload: others do something else."""
    array = numpy.array([0x7F812345, 0xFF812345, 0x7FFFFFFF, 0x7F800001, 0x7FC00000], dtype="u4")
    write("F32", array.view("f4"))
    expected = ((array & 0x7FFFFF) >> shift).astype("u2") | quiet | ((array >> 16) & 0x8000).astype("u2")
    assert numpy.array_equal(bits(converted(SOURCE, "--to", to)), expected)


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


def all_exact(found, expected):
    assert sorted(found) == sorted(expected)
    for name, array in expected.items():
        assert exact(found[name], array), f"{name} {array.shape}"


@pytest.mark.parametrize("number", range(40))
def test_archives_of_arrays(number, place, dice):
    plain = {f"t{index}/{dtype}": random_array(dice, numpy.dtype(dtype), random_shape(dice))
             for index, dtype in enumerate(NUMPY.values())}
    save = numpy.savez if number % 2 else numpy.savez_compressed
    save("arrays.npz", **{name: numpy_forms(dice, array) for name, array in plain.items()})
    run("convert", "arrays.npz", RESULT)
    all_exact(safetensors.numpy.load_file(RESULT), plain)
    run("convert", RESULT, "back.npz", *(["--compress"] if number % 3 else []))
    with zipfile.ZipFile("back.npz") as archive:
        assert archive.testzip() is None
    with numpy.load("back.npz") as archive:
        all_exact(archive, plain)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)], ids=str)
def test_single_arrays(version, place, dice):
    """Each version of the header; and our own file byte for byte."""
    for dtype in NUMPY.values():
        array = random_array(dice, numpy.dtype(dtype), random_shape(dice))
        with open("a.npy", "wb") as file:
            numpy.lib.format.write_array(file, numpy_forms(dice, array), version)
        assert exact(converted("a.npy"), array), f"{dtype} {array.shape}"
        run("convert", RESULT, "b.npy", "--force")
        theirs = io.BytesIO()
        numpy.save(theirs, array)
        assert pathlib.Path("b.npy").read_bytes() == theirs.getvalue(), f"{dtype} {array.shape}"


def test_large_arrays_are_turned(place):
    large = numpy.arange(3_000_000, dtype=">f4").reshape(1000, 3000)
    deep = numpy.arange(1_500_000, dtype="<u4").reshape(50, 3, 100, 100)
    for array in (large, deep):
        numpy.savez("a.npz", a=numpy.asfortranarray(array))
        assert exact(converted("a.npz"), array.astype(array.dtype.newbyteorder("<"), order="C"))


WORDS = {"nan": float("nan"), "inf": float("inf"), "nanj": complex(0, float("nan")), "infj": complex(0, float("inf"))}


@pytest.mark.parametrize("name", TYPES)
def test_texts(name, place, dice):
    dtype = TYPES[name]
    values = random_array(dice, dtype, (6000,))
    if name == "C64":
        values = values[numpy.isfinite(values)][:4000]
    array = values[: len(values) // 100 * 100].reshape(2, -1, 50)
    write(name, array)
    text = run("cat", SOURCE, "a").decode()
    whole = object if dtype.kind in "iu" else None
    assert same_values(numpy.array(eval(text, {"__builtins__": {}}, WORDS), dtype=whole), array)  # our own output
    assert text.count("\n") == array.shape[0] * array.shape[1] + 1


def same_values(found, array):
    found = found.astype(array.dtype)
    if array.dtype.kind == "c":
        return bool(numpy.array_equal(found.view("f4"), array.view("f4")))
    if array.dtype.kind in "iub":
        return bool(numpy.array_equal(found, array))
    return bool(((bits(found) == bits(array)) | (numpy.isnan(array) & numpy.isnan(found))).all())


@pytest.mark.parametrize(("scale", "shape"), [
    ("per-tensor", (40, 30)), ("per-row", (40, 30)), ("per-row", (7, 2, 3)), ("per-tensor", ())
])
def test_quantisation(scale, shape, place, dice):
    array = numpy.array([dice.gauss(0, 3) for _ in range(int(numpy.prod(shape, dtype=int)))], dtype="f4").reshape(shape)
    write("F32", array)
    run("convert", SOURCE, RESULT, "--to", "I8", "--scale", scale)
    rows = array.reshape(shape[0] if shape and scale == "per-row" else 1, -1)
    scales = (numpy.abs(rows.astype("f8")).max(axis=1) / 127).astype("f4")
    steps = numpy.rint(rows.astype("f8") / scales.astype("f8")[:, None]).astype("i1").reshape(shape)
    kept = scales.reshape(()) if scale == "per-tensor" else scales
    all_exact(read(RESULT), {"a": steps, "a.scale": kept})
    run("convert", RESULT, BACK, "--to", "F32", "--unscale")
    products = (steps.reshape(rows.shape) * scales.astype("f8")[:, None]).astype("f4").reshape(shape)
    all_exact(read(BACK), {"a": products})
