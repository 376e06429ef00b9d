"""Tensors of torch from bytes and as bytes."""

import ctypes

import torch

import interop


def make(dtype, shape, data):
    kind = getattr(torch, interop.NAMES[dtype])
    if not data:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(bytearray(data), dtype=kind).reshape(shape)


def plain(tensor):
    tensor = tensor.contiguous()
    # Not through numpy, which lacks some dtypes.
    size = tensor.numel() * tensor.element_size()
    return str(tensor.dtype), tensor.shape, ctypes.string_at(tensor.data_ptr(), size) if size else b""
