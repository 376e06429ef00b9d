"""The functions that the module of a framework has, for frameworks whose tensors may have any strides."""

import os
from typing import Any, Generic, Mapping, Optional, TypeVar, Union

from . import _core
from ._open import find_module, make, safe_open

_Path = Union[str, os.PathLike]
T = TypeVar("T")


class Functions(Generic[T]):
    """Functions for tensors of the type `T`. `framework` is that of `safe_open`.

    Its module also has `_specs(tensors)`, which returns a TensorSpec for each tensor to be written.
    """

    def __init__(self, framework: str):
        self._framework = framework

    def load(self, data: Any, device: Any = "cpu") -> dict[str, T]:
        """Returns the tensors of a file in memory: bytes, or another object with bytes."""
        module = find_module(self._framework)
        module._check_device(device)
        tensors = _core.read_bytes(data)
        return {name: make(module, name, tensor, device) for name, tensor in tensors}

    def load_file(self, filename: _Path, device: Any = "cpu", *, backend: Optional[str] = None) -> dict[str, T]:
        """Returns the tensors of a file. `filename`, `device` and `backend` are those of `safe_open`."""
        with safe_open(filename, self._framework, device, backend=backend) as file:
            return file.get_tensors()

    def save(self, tensors: Mapping[str, T], metadata: Optional[Mapping[str, str]] = None) -> bytes:
        """Returns a file with these tensors."""
        return _core.serialize(self._specs(tensors), metadata)

    def save_file(
        self,
        tensors: Mapping[str, T],
        filename: _Path,
        metadata: Optional[Mapping[str, str]] = None,
        *,
        sync: bool = False,
    ) -> None:
        """Writes a file, which replaces an old one atomically. With `sync`, it is on the disk when this returns."""
        _core.serialize_file(self._specs(tensors), filename, metadata, sync=sync)

    def save_sharded(
        self,
        tensors: Mapping[str, T],
        directory: _Path,
        metadata: Optional[Mapping[str, str]] = None,
        *,
        max_shard_size: str = "5GB",
    ) -> str:
        """Divides the tensors among files of at most this size, and returns the path to open."""
        specs = self._specs(tensors)
        return os.fspath(_core.save_sharded(specs, directory, metadata, max_shard_size=max_shard_size))

    def _specs(self, tensors: Mapping[str, T]) -> dict[str, _core.TensorSpec]:
        return find_module(self._framework)._specs(tensors)
