"""Arrays of MLX through its own reader and writer."""

import pathlib
import sys

import mlx.core as mx

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import interop

NAMES = {**interop.NAMES, "BOOL": "bool_"}


def make(dtype, shape, data):
    kind = getattr(mx, NAMES[dtype])
    return mx.array(list(data), dtype=mx.uint8).view(kind).reshape(shape)


def plain(array):
    # No array of one dimension and no elements can be viewed.
    data = bytes(memoryview(array.reshape(-1).view(mx.uint8))) if array.size else b""
    return str(array.dtype), array.shape, data


interop.run(
    "mlx",
    ["mlx", "mlx-cpu"],
    make,
    lambda arrays, path: mx.save_safetensors(str(path), arrays),
    lambda path: mx.load(str(path)),
    plain,
)
