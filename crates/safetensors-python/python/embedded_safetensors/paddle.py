"""Loads and saves tensors of Paddle. Saved ones may be on any devices: each is copied to the CPU first."""

from typing import Any, Mapping

import numpy as np
import paddle

from . import numpy
from ._core import TensorSpec
from ._functions import Functions
from ._open import pairs

_functions: Functions[paddle.Tensor] = Functions("paddle")
load, load_file = _functions.load, _functions.load_file
save, save_file, save_sharded = _functions.save, _functions.save_file, _functions.save_sharded

_BACKEND = "pread"
_view = numpy._view
_flip = numpy._flip


def _check_device(device: Any) -> None:
    if device != "cpu":
        paddle.device._convert_to_place(device)


def _finish(array: np.ndarray, device: Any) -> paddle.Tensor:
    # Paddle takes 16 bits without a sign as bfloat16.
    kind = array.dtype.name
    bits = array.view(np.uint16) if kind == "bfloat16" else array
    if kind.startswith("float8"):
        return paddle.to_tensor(array.view(np.uint8), place=device).view(getattr(paddle, kind))
    return paddle.to_tensor(bits, dtype=kind, place=device)


def _specs(tensors: Mapping[str, paddle.Tensor]) -> dict[str, TensorSpec]:
    return numpy._specs({name: _to_numpy(tensor) for name, tensor in pairs(tensors)})


def _to_numpy(tensor: paddle.Tensor) -> np.ndarray:
    array = tensor.detach().cpu().numpy()
    if tensor.dtype == paddle.bfloat16:
        return array.view(numpy._load_dtype("BF16"))
    return array
