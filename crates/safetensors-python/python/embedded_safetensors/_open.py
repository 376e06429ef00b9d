"""Opens files, for all frameworks."""

import importlib
import os
from types import ModuleType
from typing import Any, ItemsView, Iterator, Mapping, NamedTuple, Optional, Union

from ._core import Model, SafetensorError, open_model

# The module of each framework. It has
#   _BACKEND                             the backend if none is given,
#   _view(memory, offset, dtype, shape)  a tensor that shares the memory, on which an index can be applied,
#   _flip(tensor, axes)                  the same with reversed axes,
#   _finish(tensor, device)              what the user gets of it,
#   _check_device(device)                an exception if it is none that tensors can be on.
_MODULES = {
    "np": "numpy",
    "numpy": "numpy",
    "pt": "torch",
    "torch": "torch",
    "pytorch": "torch",
    "tf": "tensorflow",
    "tensorflow": "tensorflow",
    "jax": "flax",
    "flax": "flax",
    "mlx": "mlx",
    "paddle": "paddle",
}


class TensorMeta(NamedTuple):
    """What a header says about a tensor. The offsets of its bytes count from the first byte of data in its file."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class safe_open:
    """Opens a model and reads its tensors on request. It can be used as a context manager.

    The header is validated. An invalid file raises SafetensorError with the code of the error and its byte.

    Args:
        filename: the path of a file; or of an index, of a model in several files; or of a directory with one of these; or
            "https://…" or "hf://owner/name", whose data is read on request.
        framework: the framework of the tensors: "numpy" ("np"), "torch" ("pt"), "tensorflow" ("tf"), "flax"
            ("jax"), "mlx" or "paddle".
        device: where the tensors are, as torch and paddle name it; None is the CPU for torch. The other frameworks
            have only "cpu" here.
        backend: "pread" reads the tensors into new memory. "mmap" maps the file, and nothing is read until it is
            used; changed tensors do not change the file. If the file is written in place or truncated while mapped
            tensors are in use, they change, or the process is killed; replacing it is safe. By default it is
            "mmap" for torch, and for all others "pread", with slices of many short pieces copied from a map: if the
            file is truncated during such a copy, the process is killed, too. Slices of
            elements of less than 8 bits are copied, not mapped.
    """

    __slots__ = ("_device", "_keys", "_model", "_module")

    def __init__(
        self,
        filename: Union[str, os.PathLike],
        framework: str = "numpy",
        device: Any = "cpu",
        *,
        backend: Optional[str] = None,
    ):
        self._module = find_module(framework)
        self._module._check_device(device)
        self._device = device
        if backend not in (None, "mmap", "pread"):
            raise SafetensorError(f"unknown backend {backend!r}; there are 'mmap' and 'pread'")
        is_mapped = (backend or self._module._BACKEND) == "mmap"
        self._keys: Optional[list[str]] = None
        self._model: Optional[Model] = open_model(filename, is_mapped, backend is None)

    def __enter__(self) -> "safe_open":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file. Tensors and slices stay valid."""
        self._model = None

    def _open(self) -> Model:
        if self._model is None:
            raise SafetensorError("the file is closed")
        return self._model

    def keys(self) -> list[str]:
        """Returns the names of the tensors, sorted."""
        model = self._open()
        if self._keys is None:
            self._keys = sorted(model.offset_names())
        return self._keys.copy()

    def offset_keys(self) -> list[str]:
        """Returns the names of the tensors, in the order of their bytes in the file."""
        return self._open().offset_names()

    def metadata(self) -> Optional[dict[str, str]]:
        """Returns the texts of `__metadata__` by their keys, or None."""
        return self._open().metadata()

    def get_tensor_meta(self, name: str) -> TensorMeta:
        """Returns what the header says about a tensor."""
        return TensorMeta(*self._open().info(name))

    def get_tensor(self, name: str) -> Any:
        """Returns a tensor."""
        return make(self._module, name, self._open().tensor(name), self._device)

    def get_tensors(self) -> dict[str, Any]:
        """Returns all tensors by their names, in the order of their bytes. Large ones are read by several threads."""
        return {name: make(self._module, name, tensor, self._device) for name, tensor in self._open().tensors()}

    def get_slice(self, name: str) -> "Slice":
        """Returns an object whose `[…]` reads a part of a tensor."""
        return Slice(self._open(), self._module, self._device, name)

    def get_bytes(self, name: str) -> memoryview:
        """Returns the bytes of a tensor of any dtype, as they are in the file."""
        memory, offset, _, _ = self._open().tensor(name)
        begin, end = self.get_tensor_meta(name).data_offsets
        return memoryview(memory)[offset : offset + end - begin]


class Slice:
    """A tensor that is read in part: `file.get_slice("weight")[10:20, ::2]`.

    An index has the meaning that it has in numpy. It consists of integers, slices, `...` and None; there are no lists
    or arrays of indices. Iteration reads one row after the other.
    """

    __slots__ = ("_device", "_model", "_module", "_name")

    def __init__(self, model: Model, module: ModuleType, device: Any, name: str):
        model.info(name)  # an exception if there is no such tensor
        self._model, self._module, self._device, self._name = model, module, device, name

    def get_shape(self) -> list[int]:
        """Returns the shape of the entire tensor."""
        return self._model.info(self._name)[1]

    def get_dtype(self) -> str:
        """Returns the dtype as files name it, such as F32."""
        return self._model.info(self._name)[0]

    def __iter__(self) -> Iterator[Any]:
        shape = self.get_shape()
        if not shape:
            raise TypeError("a tensor without axes cannot be iterated over")
        return map(self.__getitem__, range(shape[0]))

    def __getitem__(self, index: Any) -> Any:
        module = self._module
        memory, offset, dtype, shape, rest, flips = self._model.part(self._name, index)
        try:
            tensor = module._view(memory, offset, dtype, shape)[rest]
            return module._finish(module._flip(tensor, flips) if flips else tensor, self._device)
        except SafetensorError as error:
            raise of_tensor(self._name, error) from error.__cause__


PySafeSlice = Slice


def _safe_open_handle(file: Any, framework: str, device: Any = "cpu", *, backend: Optional[str] = None) -> safe_open:
    """Opens the path of a file object of Python: another file if the path has been replaced since."""
    file.fileno()
    return safe_open(file.name, framework, device, backend=backend)


def find_module(framework: str) -> ModuleType:
    """Returns the module of a framework."""
    module = _MODULES.get(framework)
    if module is None:
        raise SafetensorError(f"unknown framework {framework!r}; there are {', '.join(sorted(_MODULES))}")
    return importlib.import_module(f".{module}", __package__)


def make(module: ModuleType, name: str, tensor: Any, device: Any) -> Any:
    """Returns a tensor of the framework."""
    try:
        return module._finish(module._view(*tensor), device)
    except SafetensorError as error:
        raise of_tensor(name, error) from error.__cause__


def pairs(tensors: Any) -> ItemsView[str, Any]:
    """Returns the pairs of a mapping."""
    if not isinstance(tensors, Mapping):
        raise TypeError(f"tensors are a mapping, not {type(tensors).__name__}")
    return tensors.items()


def of_tensor(name: str, sentence: object) -> SafetensorError:
    """Returns an exception about a tensor."""
    error = SafetensorError(f"tensor {name!r}: {sentence}")
    error.tensor, error.code = name, getattr(sentence, "code", None)
    return error


def no_dtype(framework: str, dtype: str, why: object = "") -> SafetensorError:
    """Returns an exception about a dtype that the framework lacks, with what the framework says."""
    said = f" ({why})" if why else ""
    return SafetensorError(f"{framework} has no dtype {dtype}{said}; safe_open(…).get_bytes(name) reads the bytes")


def only_cpu(framework: str, device: Any) -> None:
    """Raises an exception unless the device is the CPU."""
    if device not in ("cpu", None):
        raise SafetensorError(f"{framework} places tensors itself: device can only be 'cpu', not {device!r}")
