"""Arrays of JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import embedded_safetensors.flax as module
from embedded_safetensors import SafetensorError, numpy

pytestmark = pytest.mark.frameworks

DTYPES = "bool_ uint8 int8 uint16 int16 uint32 int32 float16 bfloat16 float32 complex64 float8_e4m3fn float8_e5m2".split()


def test_all_dtypes(framework):
    arrays = {name: jnp.arange(35).reshape(5, 7).astype(getattr(jnp, name)) for name in DTYPES}
    arrays |= {"scalar": jnp.float32(3.5), "empty": jnp.zeros((2, 0)), "transposed": jnp.arange(6.0).reshape(2, 3).T}
    before = dict(arrays)
    framework(module, "jax", arrays, np.asarray)
    assert arrays == before or all(arrays[name] is before[name] for name in before)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
def test_elements_of_64_bits_need_a_setting(dtype):
    file = numpy.save({"a": np.full(3, 2**40, dtype)})
    with pytest.raises(SafetensorError, match="enable jax_enable_x64"):
        module.load(file)
    jax.config.update("jax_enable_x64", True)
    try:
        assert module.load(file)["a"].tolist() == [2**40] * 3
    finally:
        jax.config.update("jax_enable_x64", False)


def test_dtypes_that_jax_lacks(monkeypatch):
    def reject(*arguments, **options):
        raise TypeError("not a JAX type")

    monkeypatch.setattr(jax, "device_put", reject)
    with pytest.raises(SafetensorError, match="JAX has no dtype"):
        module.load(numpy.save({"a": np.zeros(3)}))


def test_loaded_arrays_share_the_memory_that_was_read(path):
    module.save_file({"a": jnp.zeros((512, 1024))}, path)
    read = module._finish
    seen = []
    module._finish = lambda array, device: seen.append(array.ctypes.data) or read(array, device)
    try:
        loaded = module.load_file(path)["a"]
    finally:
        module._finish = read
    assert loaded.unsafe_buffer_pointer() == seen[0]
