"""Loads and saves arrays of numpy. bfloat16 and floats of 8 bits need the package ml_dtypes."""

import os
import sys
from typing import Any, Iterable, Mapping, Optional, Union

import numpy as np

from . import _core
from ._core import SafetensorError, TensorSpec, read_bytes
from ._open import make, no_dtype, of_tensor, only_cpu, pairs, safe_open

_Arrays = Mapping[str, np.ndarray]
_Path = Union[str, os.PathLike]


def load(data: Any) -> dict[str, np.ndarray]:
    """Returns the arrays of a file in memory: bytes, or another object with bytes. They are copies."""
    return {name: make(_ITSELF, name, tensor, "cpu") for name, tensor in read_bytes(data)}


def load_file(filename: _Path, *, backend: Optional[str] = None) -> dict[str, np.ndarray]:
    """Returns the arrays of a file. `filename` and `backend` are those of `safe_open`."""
    with safe_open(filename, "numpy", backend=backend) as file:
        return file.get_tensors()


def save(tensor_dict: _Arrays, metadata: Optional[Mapping[str, str]] = None) -> bytes:
    """Returns a file with these arrays. Arrays of any strides and byte order are saved right."""
    return _core.serialize(_specs(tensor_dict), metadata)


def save_file(
    tensor_dict: _Arrays, filename: _Path, metadata: Optional[Mapping[str, str]] = None, *, sync: bool = False
) -> None:
    """Writes a file, which replaces an old one atomically. With `sync`, it is on the disk when this returns."""
    _core.serialize_file(_specs(tensor_dict), filename, metadata, sync=sync)


def save_sharded(
    tensor_dict: _Arrays,
    directory: _Path,
    metadata: Optional[Mapping[str, str]] = None,
    *,
    max_shard_size: str = "5GB",
) -> str:
    """Divides the arrays among files of at most this size, and returns the path to open."""
    return os.fspath(
        _core.save_sharded(_specs(tensor_dict), directory, metadata, max_shard_size=max_shard_size)
    )


# With the byte order of files, on every computer.
_TYPES = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "C64": np.dtype("<c8"),
}

_OF_ML_DTYPES = {
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2": "float8_e5m2",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
}

_BACKEND = "pread"
_ITSELF = sys.modules[__name__]


def _check_device(device: Any) -> None:
    only_cpu("numpy", device)


def _view(memory: Any, offset: int, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    kind = _getdtype(dtype)
    try:
        return np.ndarray(shape, kind, memory, offset)
    except ValueError as error:
        raise SafetensorError(f"numpy has no array of the shape {list(shape)}: {error}") from error


def _getdtype(dtype_str: str) -> np.dtype:
    """Returns the dtype of a name such as F32."""
    return _TYPES.get(dtype_str) or _load_dtype(dtype_str)


def _view2np(safeview: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, np.ndarray]:
    """Returns the arrays of what `deserialize` returns. They share its memory."""
    return {name: _view(part["data"], 0, part["dtype"], tuple(part["shape"])) for name, part in safeview}


def _load_dtype(dtype: str) -> np.dtype:
    name = _OF_ML_DTYPES.get(dtype)
    if name is None:
        raise no_dtype("numpy", dtype)
    try:
        import ml_dtypes
    except ImportError as error:
        raise SafetensorError(f"numpy needs the package ml_dtypes for {dtype}") from error
    return _TYPES.setdefault(dtype, np.dtype(getattr(ml_dtypes, name)))


def _flip(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.flip(array, axes)


def _finish(array: np.ndarray, device: Any) -> np.ndarray:
    return array


def _flatten(tensor_dict: _Arrays, keep_alive_buffer: list[Any]) -> dict[str, TensorSpec]:
    """Returns a description of each array, which keeps the array itself."""
    return _specs(tensor_dict)


def _specs(arrays: _Arrays) -> dict[str, TensorSpec]:
    return {name: _spec(name, array) for name, array in pairs(arrays)}


def _spec(name: str, array: np.ndarray) -> TensorSpec:
    try:
        array = np.asarray(array)
    except ValueError as error:
        raise of_tensor(name, error) from None
    dtype = array.dtype
    if not array.flags.c_contiguous or not dtype.isnative or (_IS_BIG and dtype.itemsize > 1):
        array = array.astype(dtype.newbyteorder("<"), order="C")
    try:
        return TensorSpec(dtype=dtype, shape=array.shape, data=array)
    except SafetensorError as error:
        raise of_tensor(name, error) from None


_IS_BIG = np.dtype("<u2") != np.dtype("=u2")
