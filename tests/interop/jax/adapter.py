"""Arrays of JAX, which are those of Flax, through safetensors.flax."""

import pathlib
import sys

import jax

# Without it, JAX narrows what has 64 bits.
jax.config.update("jax_enable_x64", True)
import jax.numpy
import numpy
import safetensors.flax

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import interop


def plain(array):
    assert isinstance(array, jax.Array), type(array)
    return array.dtype.name, array.shape, numpy.asarray(array).tobytes()


interop.run(
    "jax",
    ["jax", "flax", "safetensors"],
    lambda dtype, shape, data: jax.numpy.asarray(interop.numpy_array(dtype, shape, data)),
    safetensors.flax.save_file,
    safetensors.flax.load_file,
    plain,
)
