"""Tensors of TensorFlow."""

import pytest
import tensorflow as tf

import embedded_safetensors.tensorflow as module
from embedded_safetensors import SafetensorError

pytestmark = pytest.mark.tensorflow

DTYPES = "uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex64".split()


def test_all_dtypes(framework):
    tensors = {name: tf.cast(tf.reshape(tf.range(35), (5, 7)), name) for name in DTYPES}
    tensors |= {"scalar": tf.constant(3.5), "empty": tf.zeros((2, 0)), "bool": tf.constant([[True, False]])}
    framework(module, "tf", tensors, lambda tensor: tensor.numpy())


def test_dtypes_that_tensorflow_lacks(file_of):
    with pytest.raises(SafetensorError, match="TensorFlow has no dtype float8_e8m0fnu"):
        module.load(file_of("F8_E8M0", [2], bytes(2)))


def test_memory_is_not_copied(path, monkeypatch):
    module.save_file({"a": tf.constant([1.0, 2.0])}, path)
    monkeypatch.delattr(tf, "convert_to_tensor")
    assert module.load_file(path)["a"].numpy().tolist() == [1, 2]
