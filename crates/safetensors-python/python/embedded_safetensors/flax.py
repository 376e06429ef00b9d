"""Loads and saves arrays of JAX. Loaded ones share the memory that was read, where JAX can do that."""

import os
from typing import Any, Mapping, Optional, Union

import jax
import numpy as np

from . import _core, numpy
from ._core import TensorSpec, read_bytes
from ._open import only_cpu, pairs, safe_open

_Arrays = Mapping[str, jax.Array]
_Path = Union[str, os.PathLike]


def load(data: Any) -> dict[str, jax.Array]:
    """Returns the arrays of a file in memory: bytes, or another object with bytes."""
    return {name: _finish(_view(*tensor), None) for name, tensor in read_bytes(data)}


def load_file(filename: _Path, *, backend: Optional[str] = None) -> dict[str, jax.Array]:
    """Returns the arrays of a file. `filename` and `backend` are those of `safe_open`."""
    with safe_open(filename, "flax", backend=backend) as file:
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
_flip = numpy._flip


def _check_device(device: Any) -> None:
    only_cpu("JAX", device)


def _finish(array: np.ndarray, device: Any) -> jax.Array:
    # Nothing else uses the memory, so JAX may keep it. It does so if the memory is aligned.
    return jax.device_put(array, may_alias=True)


def _specs(tensors: _Arrays) -> dict[str, TensorSpec]:
    return numpy._specs({name: np.asarray(array) for name, array in pairs(tensors)})
