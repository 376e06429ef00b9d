"""Arrays of numpy: all dtypes, all layouts, and what cannot be saved."""

import sys

import ml_dtypes
import numpy as np
import pytest

import embedded_safetensors.numpy as module
from embedded_safetensors import SafetensorError, TensorSpec, deserialize, safe_open, serialize, serialize_file
from embedded_safetensors._core import Model

pytestmark = pytest.mark.main

DTYPES = "? u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8 c8".split()
OF_ML_DTYPES = "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()


def array(dtype, shape=(5, 7)):
    bits = np.random.default_rng(1).integers(0, 2 if dtype == "?" else 100, shape)
    return bits.astype(dtype)


def test_all_dtypes(framework):
    arrays = {dtype: array(dtype) for dtype in DTYPES}
    arrays |= {name: array(getattr(ml_dtypes, name)) for name in OF_ML_DTYPES}
    framework(module, "np", arrays, np.asarray)


def test_scalars_and_empty_arrays(framework):
    framework(module, "numpy", {"scalar": np.array(3.5), "empty": np.zeros((0, 5)), "": np.zeros((2, 0))}, np.asarray)


def test_no_tensors(path):
    module.save_file({}, path, {})
    assert path.read_bytes() == b'\x18\0\0\0\0\0\0\0{"__metadata__":{}}     '
    assert module.load_file(path) == {}


@pytest.mark.parametrize("change", [
    lambda array: array.T,
    lambda array: array[::2, 1::3],
    lambda array: array[::-1],
    lambda array: np.asfortranarray(array),
    lambda array: np.broadcast_to(array[0], (4, 7)),
    lambda array: array.astype(">f4"),
    lambda array: array.astype(">f4").T,
    lambda array: np.moveaxis(array.reshape(5, 7, 1), 0, 2),
])
def test_any_strides_and_byte_order(change, path):
    expected = change(array("f4"))
    loaded = module.load(module.save({"a": expected}))["a"]
    assert np.array_equal(loaded, expected) and loaded.dtype == np.float32
    module.save_file({"a": expected}, path)
    assert np.array_equal(module.load_file(path)["a"], expected)


def test_read_only_arrays_are_saved_and_loaded_ones_can_be_changed(path):
    original = array("f4")
    original.flags.writeable = False
    module.save_file({"a": original}, path)
    file = path.read_bytes()
    for backend in (None, "mmap", "pread"):
        loaded = module.load_file(path, backend=backend)["a"]
        loaded[0, 0] = 1e6
        assert loaded[0, 0] == 1e6 and module.load_file(path)["a"][0, 0] == original[0, 0]
    assert path.read_bytes() == file


@pytest.mark.parametrize("wrong", [
    np.array([object()]),
    np.array(["text"]),
    np.array([(1, 2)], dtype="i4,i4"),
    np.array(["2026-01-01"], dtype="datetime64[D]"),
    np.zeros(2, np.complex128),
    np.zeros(2, np.longdouble),
    np.zeros(2, ml_dtypes.float4_e2m1fn),  # one element in each byte
    np.zeros(2, ml_dtypes.int4),
], ids=lambda wrong: str(wrong.dtype))
def test_dtypes_that_files_lack(wrong, path):
    path.write_bytes(b"old")
    with pytest.raises(SafetensorError, match="tensor 'name': unknown dtype") as caught:
        module.save_file({"name": wrong}, path)
    assert (caught.value.tensor, caught.value.code) == ("name", "dtype.unknown")
    assert path.read_bytes() == b"old"


def test_names_that_files_lack():
    with pytest.raises(SafetensorError, match="reserved name") as caught:
        module.save({"__metadata__": array("f4")})
    assert (caught.value.tensor, caught.value.code) == ("__metadata__", "usage.reserved")
    with pytest.raises(SafetensorError, match="not valid Unicode"):
        module.save({"\ud800": array("f4")})
    with pytest.raises(TypeError):
        module.save({1: array("f4")})


def test_ml_dtypes_is_needed_only_for_its_dtypes(path, monkeypatch):
    module.save_file({"a": array("f4"), "b": array(ml_dtypes.bfloat16)}, path)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    monkeypatch.delitem(module._TYPES, "BF16", raising=False)
    with safe_open(path) as file:
        assert file.get_tensor("a").shape == (5, 7)
        with pytest.raises(SafetensorError, match="needs the package ml_dtypes for BF16"):
            file.get_tensor("b")


def test_names_that_programs_import():
    arrays = {"a": array("f4"), "b": array(ml_dtypes.bfloat16), "c": np.zeros((0, 2), np.uint8)}
    loaded = module._view2np(deserialize(serialize(module._flatten(arrays, []))))
    assert all(np.array_equal(loaded[name], array) and loaded[name].dtype == array.dtype for name, array in arrays.items())
    assert module._TYPES["F32"] == module._getdtype("F32") == np.float32 and module._TYPES["BOOL"] == bool


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_object_with_bytes_is_loaded(kind):
    data = kind(module.save({"a": array("f4")}))
    assert np.array_equal(module.load(data)["a"], array("f4"))


def test_bytes_must_be_contiguous():
    with pytest.raises(SafetensorError, match="contiguous"):
        module.load(memoryview(module.save({"a": array("f4")}))[::2])


SHAPES = [(), (6,), (40, 9), (4, 0, 3), (3, 4, 5, 2), (2, 3, 1, 2, 4, 1, 3, 2)]


@pytest.mark.parametrize("backend", ["mmap", "pread", None])
def test_slices_match_numpy(path, backend, dice):
    arrays = {f"{dtype} {shape}": array(dtype, shape) for shape in SHAPES for dtype in DTYPES}
    module.save_file(arrays, path)
    with safe_open(path, backend=backend) as file:
        for _ in range(8000):
            name, expected = dice.choice(list(arrays.items()))
            index = random_index(dice, expected.shape)
            part = file.get_slice(name)[index]
            assert part.shape == expected[index].shape and np.array_equal(part, expected[index]), (name, index)
            assert type(part) is type(expected[index]), (name, index)


def random_index(chance, shape):
    """Returns an index for an array of this shape: some of its first axes, `...`, and some of its last."""
    first = chance.randint(0, len(shape))
    last = chance.randint(first, len(shape))
    items = [random_item(chance, length) for length in shape[:first]]
    if last < len(shape) or chance.random() < 0.2:
        items += [..., *(random_item(chance, length) for length in shape[last:])]
    for _ in range(chance.choice([0, 0, 1, 2])):
        items.insert(chance.randint(0, len(items)), None)
    return items[0] if len(items) == 1 and chance.random() < 0.5 else tuple(items)


def random_item(chance, length):
    if length and chance.random() < 0.3:
        return chance.randrange(-length, length)
    start, stop = (chance.choice([None, *range(-12, 13)]) for _ in range(2))
    return slice(start, stop, chance.choice([None, 1, 2, 5, -1, -3]))


@pytest.mark.parametrize(("index", "code"), [
    (6, "usage.slice"),
    (-7, "usage.slice"),
    (10**40, "usage.slice"),
    (-(10**40), "usage.slice"),
    (np.s_[::0], "usage.step"),
    (np.s_["a":], None),
    ((0, 0), "usage.axes"),
    (1.5, None),
    (True, None),
    (np.False_, None),
    (np.array(True), None),
    ([0, 1], None),
    (np.array([0, 1]), None),
    ("a", None),
    ((..., ...), None),
])
def test_wrong_indices(path, index, code):
    module.save_file({"a": array("f4", (6,))}, path)
    for backend in ("mmap", "pread"):
        with safe_open(path, backend=backend) as file, pytest.raises(SafetensorError) as caught:
            file.get_slice("a")[index]
        assert caught.value.tensor == "a" and caught.value.code == code


def test_integers_of_numpy_and_an_empty_list_are_indices(path):
    module.save_file({"a": array("f4")}, path)
    with safe_open(path) as file:
        assert np.array_equal(file.get_slice("a")[np.int64(2), np.uint8(1)], array("f4")[2, 1])
        assert file.get_slice("a")[[]].shape == (0, 7)


def test_an_exception_of_an_index_is_passed_on(path):
    class Wrong:
        def __index__(self):
            raise ZeroDivisionError

    module.save_file({"a": array("f4")}, path)
    with safe_open(path) as file:
        for index in (Wrong(), np.s_[Wrong() :]):
            with pytest.raises(ZeroDivisionError):
                file.get_slice("a")[index]


@pytest.mark.parametrize("is_mapped", [True, False])
@pytest.mark.parametrize(("dims", "index", "expected"), [
    ([2, 4], np.s_[:, :2], b"\x10\x54"),
    ([2, 4], np.s_[:, 2:], b"\x32\x76"),
    ([2, 4], np.s_[1], b"\x54\x76"),
    ([2, 4], np.s_[::-1, :2], b"\x10\x54"),
    ([2, 4], np.s_[:, 4:], b""),
    ([2, 4], np.s_[:, 3:3:-1], b""),
    ([2, 4], np.s_[:, ::2], None),
    ([2, 4], np.s_[:, ::-1], None),
    ([2, 4], np.s_[1, ::-1], None),
    ([2, 4], np.s_[:, 1:3], None),
    ([8, 1], np.s_[::-1, 0], None),
    ([8, 1], np.s_[:2, 0], b"\x10"),
])
def test_slices_of_elements_narrower_than_a_byte(path, file_of, is_mapped, dims, index, expected):
    # Elements 0 to 7: the low bits of a byte come first. A framework has to reverse axes.
    path.write_bytes(file_of("F4", dims, b"\x10\x32\x54\x76"))
    model = Model(path, is_mapped, True)
    if expected is None:
        with pytest.raises(SafetensorError) as caught:
            model.part("a", index)
        assert (caught.value.code, caught.value.tensor) == ("usage.subbyte", "a")
    else:
        memory, offset, dtype, shape, rest, _flips = model.part("a", index)
        assert (bytes(memory)[offset:], dtype, rest) == (expected, "F4", ())
        assert shape == np.empty(dims)[index].shape


def test_large_files_have_the_right_values(path):
    arrays = {str(at): np.random.default_rng(at).random((1024, 5000), np.float32) for at in range(3)}
    module.save_file(arrays, path)
    for loaded in (module.load_file(path), module.load(path.read_bytes()), module.load(module.save(arrays))):
        assert all(np.array_equal(loaded[name], expected) for name, expected in arrays.items())


def test_a_dtype_that_numpy_lacks_names_the_tensor(path):
    serialize_file({"q": TensorSpec(dtype="F4", shape=[2], data=bytes(1))}, path)
    for read in (
        lambda: module.load_file(path),
        lambda: module.load(path.read_bytes()),
        lambda: safe_open(path).get_tensor("q"),
        lambda: safe_open(path).get_slice("q")[:],
    ):
        with pytest.raises(SafetensorError, match="tensor 'q': numpy has no dtype F4") as caught:
            read()
        assert caught.value.tensor == "q"


@pytest.mark.parametrize("backend", [None, "pread", "mmap"])
def test_slices_of_many_axes(backend, path):
    array = np.arange(2**11, dtype=np.float32).reshape((2,) * 11)
    module.save_file({"a": array}, path)
    part = safe_open(path, backend=backend).get_slice("a")
    for index in (0, np.s_[1, ..., ::-1], np.s_[:, None, 0], np.s_[...], (1,) * 11):
        assert np.array_equal(part[index], array[index])
        assert type(part[index]) is type(array[index])
