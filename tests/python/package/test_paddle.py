"""Tensors of Paddle."""

import paddle
import pytest

import embedded_safetensors.paddle as module
from embedded_safetensors import FileWriter, SafetensorError, numpy, safe_open

pytestmark = pytest.mark.frameworks

DTYPES = "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 float8_e4m3fn float8_e5m2".split()


def test_all_dtypes(framework):
    tensors = {name: paddle.arange(35).reshape([5, 7]).astype(name) for name in DTYPES}
    tensors |= {"scalar": paddle.to_tensor(3.5), "empty": paddle.zeros([2, 0]), "bool": paddle.ones([2, 2]) > 0}
    tensors["complex"] = paddle.to_tensor([[1 + 2j, 3]]).astype("complex64")
    framework(module, "paddle", tensors, module._to_numpy)


def test_saved_dtypes():
    for name in (*DTYPES, "complex64"):
        saved = numpy.load(module.save({"a": paddle.to_tensor([1.0, 2.0]).astype(name)}))["a"]
        assert saved.dtype.name == name and saved.tolist() == [1, 2]


@pytest.mark.parametrize(("dtype", "size"), [
    ("U16", 2), ("U32", 4), ("U64", 8), ("F8_E4M3FNUZ", 1), ("F8_E5M2FNUZ", 1), ("F8_E8M0", 1)
])
def test_dtypes_that_paddle_lacks(file_of, dtype, size):
    with pytest.raises(SafetensorError, match="Paddle has no dtype"):
        module.load(file_of(dtype, [2], bytes(2 * size)))


def test_dtypes_of_paddle_describe_tensors(path):
    with FileWriter(path, {"a": (paddle.float32, [2]), "b": (paddle.bfloat16, [1])}) as file:
        file.write("a", bytes(8))
        file.write("b", bytes(2))
    assert module.load_file(path)["b"].dtype == paddle.bfloat16


def test_devices(path):
    module.save_file({"a": paddle.ones([3])}, path)
    with safe_open(path, "paddle", "cpu") as file:
        assert file.get_tensor("a").place.is_cpu_place()


def test_tensors_that_are_not_contiguous(path):
    tensor = paddle.arange(6).reshape([2, 3]).t()
    module.save_file({"a": tensor}, path)
    assert module.load_file(path)["a"].tolist() == tensor.tolist()
