"""Tensors of Paddle."""

import pytest

paddle = pytest.importorskip("paddle")

import embedded_safetensors.paddle as module  # noqa: E402
from embedded_safetensors import safe_open  # noqa: E402

DTYPES = "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()


def test_all_dtypes(framework):
    tensors = {name: paddle.arange(35).reshape([5, 7]).astype(name) for name in DTYPES}
    tensors |= {"scalar": paddle.to_tensor(3.5), "empty": paddle.zeros([2, 0]), "bool": paddle.ones([2, 2]) > 0}
    framework(module, "paddle", tensors, module._to_numpy)


def test_devices(path):
    module.save_file({"a": paddle.ones([3])}, path)
    with safe_open(path, "paddle", "cpu") as file:
        assert file.get_tensor("a").place.is_cpu_place()


def test_tensors_that_are_not_contiguous(path):
    tensor = paddle.arange(6).reshape([2, 3]).t()
    module.save_file({"a": tensor}, path)
    assert module.load_file(path)["a"].tolist() == tensor.tolist()
