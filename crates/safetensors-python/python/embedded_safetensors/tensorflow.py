"""Loads and saves tensors of TensorFlow."""

import os
from typing import Any, Mapping, Optional, Union

import numpy as np
import tensorflow as tf

from . import _core, numpy
from ._core import TensorSpec, read_bytes
from ._open import only_cpu, pairs, safe_open

_Tensors = Mapping[str, tf.Tensor]
_Path = Union[str, os.PathLike]


def load(data: Any) -> dict[str, tf.Tensor]:
    """Returns the tensors of a file in memory: bytes, or another object with bytes."""
    return {name: _finish(_view(*tensor), None) for name, tensor in read_bytes(data)}


def load_file(filename: _Path, *, backend: Optional[str] = None) -> dict[str, tf.Tensor]:
    """Returns the tensors of a file. `filename` and `backend` are those of `safe_open`."""
    with safe_open(filename, "tensorflow", backend=backend) as file:
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
    only_cpu("TensorFlow", device)


def _finish(array: np.ndarray, device: Any) -> tf.Tensor:
    return tf.convert_to_tensor(array)


def _specs(tensors: _Tensors) -> dict[str, TensorSpec]:
    return numpy._specs({name: tensor.numpy() for name, tensor in pairs(tensors)})
