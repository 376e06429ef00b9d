"""Loads and saves tensors of PyTorch, and models whose tensors share memory.

Saved tensors may be on any devices: each is copied to the CPU first. Loaded ones are all on the given device.
"""

import math
import os
import sys
from collections import defaultdict
from typing import Any, Iterable, Mapping, Optional, Union

import torch

from . import _core
from ._core import SafetensorError, TensorSpec, read_bytes
from ._open import make, no_dtype, of_tensor, safe_open

if sys.byteorder == "big":
    raise ImportError("embedded_safetensors.torch needs a little-endian computer")

_Tensors = Mapping[str, torch.Tensor]
_Path = Union[str, os.PathLike]


def load(data: Any) -> dict[str, torch.Tensor]:
    """Returns the tensors of a file in memory: bytes, or another object with bytes. They are copies."""
    return {name: make(sys.modules[__name__], name, tensor, "cpu") for name, tensor in read_bytes(data)}


def load_file(
    filename: _Path, device: Union[str, int, None] = "cpu", *, backend: Optional[str] = None
) -> dict[str, torch.Tensor]:
    """Returns the tensors of a file. `filename`, `device` and `backend` are those of `safe_open`."""
    with safe_open(filename, "torch", device, backend=backend) as file:
        return file.get_tensors()


def save(tensors: _Tensors, metadata: Optional[Mapping[str, str]] = None) -> bytes:
    """Returns a file with these tensors, which must be contiguous and must not share memory."""
    kept: list[torch.Tensor] = []
    return _core.serialize(_flatten_as_ptr(tensors, kept), metadata)


def save_file(
    tensors: _Tensors, filename: _Path, metadata: Optional[Mapping[str, str]] = None, *, sync: bool = False
) -> None:
    """Writes a file, which replaces an old one atomically. With `sync`, it is on the disk when this returns.

    The tensors must be contiguous and must not share memory: see `save_model`.
    """
    kept: list[torch.Tensor] = []
    _core.serialize_file(_flatten_as_ptr(tensors, kept), filename, metadata, sync=sync)


def save_sharded(
    tensors: _Tensors,
    directory: _Path,
    metadata: Optional[Mapping[str, str]] = None,
    *,
    max_shard_size: str = "5GB",
) -> str:
    """Divides the tensors among files of at most this size, and returns the path to open."""
    kept: list[torch.Tensor] = []
    specs = _flatten_as_ptr(tensors, kept)
    return os.fspath(_core.save_sharded(specs, directory, metadata, max_shard_size=max_shard_size))


def save_model(
    model: torch.nn.Module,
    filename: _Path,
    metadata: Optional[Mapping[str, str]] = None,
    force_contiguous: bool = True,
) -> None:
    """Writes the tensors of a model. Of those that share memory one is written, and `metadata` names it for the others.

    With `force_contiguous`, tensors that are not contiguous are copied.
    """
    tensors = model.state_dict()
    metadata = dict(metadata) if metadata else {}
    for kept, removed in _remove_duplicate_names(tensors).items():
        for name in removed:
            metadata.setdefault(name, kept)
            del tensors[name]
    if force_contiguous:
        tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    try:
        save_file(tensors, filename, metadata or None)
    except ValueError as error:
        if force_contiguous:
            raise
        raise ValueError(f"{error} Or use save_model(..., force_contiguous=True), which copies them.") from error


def load_model(
    model: torch.nn.Module,
    filename: _Path,
    strict: bool = True,
    device: Union[str, int, None] = "cpu",
    *,
    backend: Optional[str] = None,
) -> tuple[set[str], list[str]]:
    """Loads a file into a model. Returns the names that the file lacks, and those that the model lacks.

    With `strict`, there must be none.
    """
    tensors = load_file(filename, device, backend=backend)
    shared = _remove_duplicate_names(model.state_dict(), preferred_names=tensors)
    missing_names, unexpected = model.load_state_dict(tensors, strict=False)
    missing = set(missing_names)
    for name in (name for names in shared.values() for name in names):
        # It shares its memory with a tensor that the file has.
        if name in missing:
            missing.remove(name)
        else:
            unexpected.append(name)
    if strict and (missing or unexpected):
        listed = {"Missing": missing, "Unexpected": unexpected}
        lines = [
            f"\n    {word} key(s) in state_dict: " + ", ".join(f'"{name}"' for name in sorted(names))
            for word, names in listed.items()
            if names
        ]
        raise RuntimeError(f"Error(s) in loading state_dict for {type(model).__name__}:" + "".join(lines))
    return missing, unexpected


# The names that torch has for dtypes; older releases lack some.
_NAMES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2": "float8_e5m2",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "F4": "float4_e2m1fn_x2",
}
_TYPES = {dtype: getattr(torch, name) for dtype, name in _NAMES.items() if hasattr(torch, name)}
_SIZE = {dtype: torch.empty(0, dtype=dtype).element_size() for dtype in _TYPES.values()}

_BACKEND = "mmap"


def _getdtype(dtype_str: str) -> torch.dtype:
    """Returns the dtype of a name such as F32."""
    return _TYPES[dtype_str]


def _view2torch(safeview: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, torch.Tensor]:
    """Returns the tensors of what `deserialize` returns. They share its memory."""
    return {name: _view(part["data"], 0, part["dtype"], tuple(part["shape"])) for name, part in safeview}


def _check_device(device: Any) -> None:
    if device is not None:
        torch.device(device)


def _view(memory: Any, offset: int, dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    kind = _TYPES.get(dtype)
    if kind is None:
        raise no_dtype(f"torch {torch.__version__}", dtype)
    if dtype == "F4":
        shape = _packed(shape)
    count = math.prod(shape)
    if count == 0:
        return torch.empty(shape, dtype=kind, device="cpu")
    return torch.frombuffer(memory, dtype=kind, count=count, offset=offset).reshape(shape)


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of elements that are pairs."""
    if not shape or shape[-1] % 2:
        raise SafetensorError(f"torch has elements of 4 bits only in pairs, so not in the shape {list(shape)}")
    return (*shape[:-1], shape[-1] // 2)


def _flip(tensor: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    return torch.flip(tensor, axes)


def _finish(tensor: torch.Tensor, device: Any) -> torch.Tensor:
    return tensor if device is None or device == "cpu" else tensor.to(device)


def _flatten_as_ptr(tensors: _Tensors, keep_alive_buffer: list[Any]) -> dict[str, TensorSpec]:
    """Returns a description of each tensor, and appends the tensors whose memory they name."""
    _evaluate_tensors_for_save(tensors)
    kept = {name: _in_memory(name, tensor) for name, tensor in tensors.items()}
    keep_alive_buffer.extend(kept.values())
    return {name: _spec(name, tensor) for name, tensor in kept.items()}


def _evaluate_tensors_for_save(tensors: _Tensors) -> None:
    # These sentences begin as those of the reference, for which programs search.
    if not isinstance(tensors, Mapping):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
    sparse = [name for name, tensor in tensors.items() if tensor.layout != torch.strided]
    if sparse:
        raise ValueError(
            f"You are trying to save a sparse tensors: `{sparse}` which this library does not support. You can make it"
            " a dense tensor before saving with `.to_dense()` but be aware this might make a much larger file than"
            " needed."
        )
    shared = [names for names in _find_shared_tensors(tensors) if len(names) > 1]
    if shared:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when"
            f" loading them again: {shared}. save_model saves models with such tensors."
        )


def _in_memory(name: str, tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.is_contiguous():
        raise ValueError(
            f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. Save tensor.contiguous()."
        )
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor if tensor.device.type == "cpu" else tensor.to("cpu")


def _spec(name: str, tensor: torch.Tensor) -> TensorSpec:
    length = tensor.nelement() * tensor.element_size()
    dtype = str(tensor.dtype).removeprefix("torch.")
    try:
        return TensorSpec(dtype=dtype, shape=tensor.shape, data_ptr=tensor.data_ptr(), data_len=length)
    except SafetensorError as error:
        raise of_tensor(name, error) from None


def storage_ptr(tensor: torch.Tensor) -> int:
    """Returns the address of the memory that the tensor is a part of; 0 if it has none."""
    try:
        return _storage(tensor).data_ptr()
    except (NotImplementedError, RuntimeError):
        return 0


def storage_size(tensor: torch.Tensor) -> int:
    """Returns the number of bytes of the memory that the tensor is a part of."""
    try:
        return _storage(tensor).nbytes()
    except NotImplementedError:
        return tensor.nelement() * tensor.element_size()


def _storage(tensor: torch.Tensor) -> Any:
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def _end_ptr(tensor: torch.Tensor) -> int:
    """Returns the address after the last element."""
    if not tensor.nelement():
        return tensor.data_ptr()
    last = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr() + (last + 1) * tensor.element_size()


def _is_complete(tensor: torch.Tensor) -> bool:
    """Returns whether the tensor has all of its memory."""
    length = tensor.nelement() * tensor.element_size()
    return tensor.data_ptr() == storage_ptr(tensor) and length == storage_size(tensor)


def _find_shared_tensors(tensors: _Tensors) -> list[set[str]]:
    """Returns sets of names, whose tensors overlap in memory. A tensor that overlaps no other has its own set."""
    storages = defaultdict(list)
    for name, tensor in tensors.items():
        start, length = storage_ptr(tensor), storage_size(tensor)
        if tensor.device.type != "meta" and start and length:
            storages[tensor.device, start, length].append(name)
    return _filter_shared_not_shared(storages.values(), tensors)


def _filter_shared_not_shared(tensors: Iterable[Iterable[str]], state_dict: _Tensors) -> list[set[str]]:
    """Divides sets of names whose tensors are in the same memory into those whose tensors overlap."""
    return [names for group in tensors for names in _overlapping(list(group), state_dict)]


def _overlapping(names: list[str], tensors: _Tensors) -> list[set[str]]:
    if len(names) == 1:
        return [set(names)]
    sets: list[set[str]] = []
    end = 0
    for start, stop, name in sorted((tensors[name].data_ptr(), _end_ptr(tensors[name]), name) for name in names):
        if sets and start < end:
            sets[-1].add(name)
        else:
            sets.append({name})
        end = max(end, stop)
    return sets


def _remove_duplicate_names(
    tensors: _Tensors,
    *,
    preferred_names: Optional[Iterable[str]] = None,
    discard_names: Optional[Iterable[str]] = None,
) -> dict[str, list[str]]:
    """Returns the name to keep of each set of tensors that share memory, with the others."""
    preferred, discarded = set(preferred_names or ()), set(discard_names or ())
    removed = {}
    for names in _find_shared_tensors(tensors):
        complete = {name for name in names if _is_complete(tensors[name])}
        if not complete:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no suitable name to keep for"
                f" saving amongst: {names}. None is covering the entire storage. Save copies, with tensor.clone()."
            )
        kept = min(complete & preferred or complete - discarded or complete)
        if len(names) > 1:
            removed[kept] = sorted(names - {kept})
    return removed
