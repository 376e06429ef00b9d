"""Arrays of MLX."""

import mlx.core as mx
import pytest

import embedded_safetensors.mlx as module
from embedded_safetensors import SafetensorError

pytestmark = pytest.mark.frameworks

DTYPES = "bool_ uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 complex64".split()


def test_all_dtypes(framework):
    arrays = {name: mx.arange(35).reshape(5, 7).astype(getattr(mx, name)) for name in DTYPES}
    arrays |= {"scalar": mx.array(3.5), "empty": mx.zeros((2, 0)), "transposed": mx.arange(6.0).reshape(2, 3).T}
    framework(module, "mlx", arrays, module._to_numpy)


@pytest.mark.parametrize(("dtype", "size"), [("F8_E5M2", 1), ("F64", 8)])
def test_dtypes_that_mlx_lacks(file_of, dtype, size):
    with pytest.raises(SafetensorError, match="MLX has no dtype"):
        module.load(file_of(dtype, [1], bytes(size)))
