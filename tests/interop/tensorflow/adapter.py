"""Tensors of TensorFlow, which are those of Keras, through safetensors.tensorflow."""

import pathlib
import sys

import safetensors.tensorflow
import tensorflow

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import interop

interop.run(
    "tensorflow",
    ["tensorflow_cpu", "keras", "safetensors"],
    lambda dtype, shape, data: tensorflow.constant(interop.numpy_array(dtype, shape, data)),
    safetensors.tensorflow.save_file,
    safetensors.tensorflow.load_file,
    lambda tensor: (tensor.dtype.name, tensor.shape, tensor.numpy().tobytes()),
)
