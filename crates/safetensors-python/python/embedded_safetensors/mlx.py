"""Loads and saves arrays of MLX. MLX copies them to and from memory of its own."""

import os
from typing import Any, Mapping, Optional, Union

import mlx.core as mx
import numpy as np

from . import _core, numpy
from ._core import SafetensorError, TensorSpec, read_bytes
from ._open import only_cpu, pairs, safe_open

_Arrays = Mapping[str, mx.array]
_Path = Union[str, os.PathLike]


def load(data: Any) -> dict[str, mx.array]:
    """Returns the arrays of a file in memory: bytes, or another object with bytes."""
    return {name: _finish(_view(*tensor), None) for name, tensor in read_bytes(data)}


def load_file(filename: _Path, *, backend: Optional[str] = None) -> dict[str, mx.array]:
    """Returns the arrays of a file. `filename` and `backend` are those of `safe_open`."""
    with safe_open(filename, "mlx", backend=backend) as file:
        return file.get_tensors()


def save(tensors: _Arrays, metadata: Optional[dict[str, str]] = None) -> bytes:
    """Returns a file with these arrays."""
    return _core.serialize(_specs(tensors), metadata)


def save_file(
    tensors: _Arrays, filename: _Path, metadata: Optional[dict[str, str]] = None, *, sync: bool = False
) -> None:
    """Writes a file, which replaces an old one atomically. With `sync`, it is on the disk when this returns."""
    _core.serialize_file(_specs(tensors), filename, metadata, sync=sync)


def save_sharded(
    tensors: _Arrays,
    directory: _Path,
    metadata: Optional[dict[str, str]] = None,
    *,
    max_shard_size: str = "5GB",
) -> str:
    """Divides the arrays among files of at most this size, and returns the path to open."""
    return os.fspath(_core.save_sharded(_specs(tensors), directory, metadata, max_shard_size=max_shard_size))


_BACKEND = "pread"
_view = numpy._view


def _check_device(device: Any) -> None:
    only_cpu("MLX", device)


def _flip(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    # MLX takes no arrays with negative strides.
    return np.ascontiguousarray(numpy._flip(array, axes))


def _finish(array: np.ndarray, device: Any) -> mx.array:
    # MLX does not know the bfloat16 of ml_dtypes.
    if array.dtype.name == "bfloat16":
        return mx.array(array.view(np.uint16)).view(mx.bfloat16)
    if array.dtype.name.startswith("float8"):
        raise SafetensorError(f"MLX has no dtype {array.dtype.name}; safe_open(…).get_bytes(name) reads the bytes")
    return mx.array(array)


def _specs(tensors: _Arrays) -> dict[str, TensorSpec]:
    return numpy._specs({name: _to_numpy(array) for name, array in pairs(tensors)})


def _to_numpy(array: mx.array) -> np.ndarray:
    if array.dtype == mx.bfloat16:
        return np.asarray(array.view(mx.uint16)).view(numpy._load_dtype("BF16"))
    return np.asarray(array)
