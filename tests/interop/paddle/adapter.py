"""Tensors of PaddlePaddle through safetensors.paddle."""

import ctypes
import math
import pathlib
import sys

import paddle
import safetensors.paddle

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import interop


def make(dtype, shape, data):
    kind = getattr(paddle, interop.NAMES[dtype])
    if not data:
        return paddle.empty(shape, dtype=kind)
    return paddle.base.core.frombuffer(data, kind).reshape(shape)


def plain(tensor):
    # Some dtypes have no kernel that counts elements.
    size = math.prod(tensor.shape) * tensor.element_size()
    return str(tensor.dtype), tensor.shape, ctypes.string_at(tensor.data_ptr(), size) if size else b""


interop.run(
    "paddle",
    ["paddlepaddle", "safetensors"],
    make,
    safetensors.paddle.save_file,
    safetensors.paddle.load_file,
    plain,
)
