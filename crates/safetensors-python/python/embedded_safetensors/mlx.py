"""Loads and saves arrays of MLX. MLX copies them to and from memory of its own."""

from typing import Any, Mapping

import mlx.core as mx
import numpy as np

from . import numpy
from ._core import TensorSpec
from ._functions import Functions
from ._open import no_dtype, only_cpu, pairs

_functions: Functions[mx.array] = Functions("mlx")
load, load_file = _functions.load, _functions.load_file
save, save_file, save_sharded = _functions.save, _functions.save_file, _functions.save_sharded

_BACKEND = "pread"
_view = numpy._view


def _check_device(device: Any) -> None:
    only_cpu("MLX", device)


def _flip(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    # MLX takes no arrays with negative strides.
    return np.ascontiguousarray(numpy._flip(array, axes))


def _finish(array: np.ndarray, device: Any) -> mx.array:
    kind = array.dtype.name
    # MLX does not know the bfloat16 of ml_dtypes.
    if kind == "bfloat16":
        return mx.array(array.view(np.uint16)).view(mx.bfloat16)
    # It would change float64 to float32.
    if kind == "float64" or kind.startswith("float8"):
        raise no_dtype("MLX", kind)
    return mx.array(array)


def _specs(tensors: Mapping[str, mx.array]) -> dict[str, TensorSpec]:
    return numpy._specs({name: _to_numpy(array) for name, array in pairs(tensors)})


def _to_numpy(array: mx.array) -> np.ndarray:
    if array.dtype == mx.bfloat16:
        return np.asarray(array.view(mx.uint16)).view(numpy._load_dtype("BF16"))
    return np.asarray(array)
