"""Loads and saves tensors of Paddle. Saved ones may be on any devices: each is copied to the CPU first."""

from typing import Any, Mapping

import numpy as np
import paddle

from . import numpy
from ._core import TensorSpec
from ._functions import Functions
from ._open import no_dtype, pairs

_functions: Functions[paddle.Tensor] = Functions("paddle")
load, load_file = _functions.load, _functions.load_file
save, save_file, save_sharded = _functions.save, _functions.save_file, _functions.save_sharded

_BACKEND = "pread"
_view = numpy._view
_flip = numpy._flip


def _check_device(device: Any) -> None:
    if device != "cpu":
        paddle.device._convert_to_place(device)


# The dtypes that Paddle has, by their names in numpy, with those of the arrays that it takes. For it, uint16 is
# bfloat16.
_DTYPES = {
    name: name
    for name in "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64".split()
} | {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def _finish(array: np.ndarray, device: Any) -> paddle.Tensor:
    kind = array.dtype.name
    taken = _DTYPES.get(kind)
    if taken is None:
        raise no_dtype("Paddle", kind)
    if taken == "uint8":
        return paddle.to_tensor(array.view(taken), place=device).view(kind)
    return paddle.to_tensor(array.view(taken), dtype=kind, place=device)


def _specs(tensors: Mapping[str, paddle.Tensor]) -> dict[str, TensorSpec]:
    return numpy._specs({name: _to_numpy(tensor) for name, tensor in pairs(tensors)})


def _to_numpy(tensor: paddle.Tensor) -> np.ndarray:
    tensor = tensor.detach().cpu()
    if tensor.dtype == paddle.bfloat16:
        return tensor.numpy().view(numpy._load_dtype("BF16"))
    for kind, dtype in (("float8_e4m3fn", "F8_E4M3"), ("float8_e5m2", "F8_E5M2")):
        # Older releases lack them.
        if tensor.dtype == getattr(paddle, kind, None):
            # As an array of its own it would be one of int8.
            return tensor.view("uint8").numpy().view(numpy._load_dtype(dtype))
    return tensor.numpy()
