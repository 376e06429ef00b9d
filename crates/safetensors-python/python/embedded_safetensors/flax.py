"""Loads and saves arrays of JAX. Loaded ones share the memory that was read, where JAX can do that."""

from typing import Any, Mapping

import jax
import numpy as np

from . import numpy
from ._core import SafetensorError, TensorSpec
from ._functions import Functions
from ._open import no_dtype, only_cpu, pairs

_functions: Functions[jax.Array] = Functions("flax")
load, load_file = _functions.load, _functions.load_file
save, save_file, save_sharded = _functions.save, _functions.save_file, _functions.save_sharded

_BACKEND = "pread"
_view = numpy._view
_flip = numpy._flip


def _check_device(device: Any) -> None:
    only_cpu("JAX", device)


def _finish(array: np.ndarray, device: Any) -> jax.Array:
    # Nothing else uses the memory, so JAX may keep it. It does so if the memory is aligned.
    try:
        result = jax.device_put(array, may_alias=True)
    except TypeError as error:
        raise no_dtype("JAX", array.dtype.name, error) from error
    if result.dtype != array.dtype:
        raise SafetensorError(
            f"JAX would change {array.dtype} to {result.dtype}: enable jax_enable_x64, or read the bytes with"
            " safe_open(…).get_bytes(name)"
        )
    return result


def _specs(tensors: Mapping[str, jax.Array]) -> dict[str, TensorSpec]:
    return numpy._specs({name: np.asarray(array) for name, array in pairs(tensors)})
