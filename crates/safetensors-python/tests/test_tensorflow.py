"""Tensors of TensorFlow."""

import pytest

tf = pytest.importorskip("tensorflow")

import embedded_safetensors.tensorflow as module  # noqa: E402

DTYPES = "uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex64".split()


def test_all_dtypes(framework):
    tensors = {name: tf.cast(tf.reshape(tf.range(35), (5, 7)), name) for name in DTYPES}
    tensors |= {"scalar": tf.constant(3.5), "empty": tf.zeros((2, 0)), "bool": tf.constant([[True, False]])}
    framework(module, "tf", tensors, lambda tensor: tensor.numpy())
