"""Loads and saves tensors of Paddle. Saved ones may be on any devices: each is copied to the CPU first."""

import os
from typing import Any, Mapping, Optional, Union

import numpy as np
import paddle

from . import _core, numpy
from ._core import TensorSpec, read_bytes
from ._open import pairs, safe_open

_Tensors = Mapping[str, paddle.Tensor]
_Path = Union[str, os.PathLike]


def load(data: Any, device: str = "cpu") -> dict[str, paddle.Tensor]:
    """Returns the tensors of a file in memory: bytes, or another object with bytes."""
    return {name: _finish(_view(*tensor), device) for name, tensor in read_bytes(data)}


def load_file(filename: _Path, device: str = "cpu", *, backend: Optional[str] = None) -> dict[str, paddle.Tensor]:
    """Returns the tensors of a file. `filename`, `device` and `backend` are those of `safe_open`."""
    with safe_open(filename, "paddle", device, backend=backend) as file:
        return file.get_tensors()


def save(tensors: _Tensors, metadata: Optional[dict[str, str]] = None) -> bytes:
    """Returns a file with these tensors."""
    return _core.serialize(_specs(tensors), metadata)


def save_file(
    tensors: _Tensors, filename: _Path, metadata: Optional[dict[str, str]] = None, *, sync: bool = False
) -> None:
    """Writes a file, which replaces an old one atomically. With `sync`, it is on the disk when this returns."""
    _core.serialize_file(_specs(tensors), filename, metadata, sync=sync)


def save_sharded(
    tensors: _Tensors,
    directory: _Path,
    metadata: Optional[dict[str, str]] = None,
    *,
    max_shard_size: str = "5GB",
) -> str:
    """Divides the tensors among files of at most this size, and returns the path to open."""
    return os.fspath(_core.save_sharded(_specs(tensors), directory, metadata, max_shard_size=max_shard_size))


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


def _specs(tensors: _Tensors) -> dict[str, TensorSpec]:
    return numpy._specs({name: _to_numpy(tensor) for name, tensor in pairs(tensors)})


def _to_numpy(tensor: paddle.Tensor) -> np.ndarray:
    array = tensor.detach().cpu().numpy()
    if tensor.dtype == paddle.bfloat16:
        return array.view(numpy._load_dtype("BF16"))
    return array
