"""Writes a file with a framework, in its directory, and reads ours with it: python3 interop.py FRAMEWORK RESULTS

RESULTS is a file for JSON with `versions`, and for each name of `values.json` what the framework has `written` and
`read`: the dtype, shape and bytes of its own array, or its `error`. The bytes come from the array in memory, never from
a file that we have parsed.
"""

import ctypes
import importlib.metadata
import json
import math
import pathlib
import sys

# Directories here have the names of frameworks.
sys.path.remove(str(pathlib.Path(__file__).resolve().parent))

HERE = pathlib.Path(__file__).parent
VALUES = json.loads((HERE / "values.json").read_text())
OURS = HERE / "ours"

# What most frameworks call the dtypes; some say bool_.
NAMES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "I32": "int32", "U32": "uint32",
    "I64": "int64", "U64": "uint64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "F4": "float4_e2m1fn", "F6_E2M3": "float6_e2m3fn", "F6_E3M2": "float6_e3m2fn",
    "F8_E5M2": "float8_e5m2", "F8_E4M3": "float8_e4m3fn", "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
# The elements of these are narrower than a byte in a file, and a byte in the arrays of ml_dtypes.
NARROW = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}


def numpy_array(dtype, shape, data):
    """Returns an array of numpy, and of ml_dtypes where numpy lacks the dtype."""
    import numpy

    if dtype in NARROW:
        bits, number = NARROW[dtype], int.from_bytes(data, "little")
        data = bytes(number >> at & (1 << bits) - 1 for at in range(0, 8 * len(data), bits))
    return numpy.frombuffer(data, numpy.dtype(NAMES[dtype])).reshape(shape)


def numpy_plain(array):
    return array.dtype.name, array.shape, array.tobytes()


# A function for each framework, named like its directory, returns the packages whose versions are told, and what
# `run` describes.


def numpy():
    """Arrays of numpy, and of ml_dtypes where numpy lacks the dtype, through safetensors.numpy."""
    import ml_dtypes  # noqa: F401, adds its dtypes to numpy
    import safetensors.numpy as module

    return ["numpy", "ml_dtypes", "safetensors"], numpy_array, module.save_file, module.load_file, numpy_plain


def safestructures():
    """Dictionaries of numpy's arrays through safestructures, which keeps how they are nested in the metadata."""
    import safestructures as module

    packages = ["safestructures", "numpy", "safetensors"]
    # A file without its metadata is rejected.
    load = lambda path: module.load_file(OURS / "safestructures" / path.name)
    return packages, numpy_array, module.save_file, load, numpy_plain


def torch(packages=("torch", "safetensors")):
    """Tensors of torch through safetensors.torch."""
    import safetensors.torch as module
    import torch

    def make(dtype, shape, data):
        kind = getattr(torch, NAMES[dtype])
        return torch.frombuffer(bytearray(data), dtype=kind).reshape(shape) if data else torch.empty(shape, dtype=kind)

    def plain(tensor):
        tensor = tensor.contiguous()
        # Not through numpy, which lacks some dtypes.
        size = tensor.numel() * tensor.element_size()
        return str(tensor.dtype), tensor.shape, ctypes.string_at(tensor.data_ptr(), size) if size else b""

    return packages, make, module.save_file, module.load_file, plain


def huggingface_hub():
    """State dictionaries of torch, in shards, through huggingface_hub."""
    import huggingface_hub as module

    packages, make, _, _, plain = torch(["huggingface_hub", "torch", "safetensors"])
    # Some shards hold several tensors.
    save = lambda tensors, path: module.save_torch_state_dict(tensors, path.parent, max_shard_size=100)
    return packages, make, save, module.load_state_dict_from_file, plain


def tensorflow():
    """Tensors of TensorFlow, which are those of Keras, through safetensors.tensorflow."""
    import safetensors.tensorflow as module
    import tensorflow

    make = lambda dtype, shape, data: tensorflow.constant(numpy_array(dtype, shape, data))
    plain = lambda tensor: (tensor.dtype.name, tensor.shape, tensor.numpy().tobytes())
    return ["tensorflow_cpu", "keras", "safetensors"], make, module.save_file, module.load_file, plain


def jax():
    """Arrays of JAX, which are those of Flax, through safetensors.flax."""
    import jax

    # Without it, JAX narrows what has 64 bits.
    jax.config.update("jax_enable_x64", True)
    import numpy
    import safetensors.flax as module

    def plain(array):
        assert isinstance(array, jax.Array), type(array)
        return numpy_plain(numpy.asarray(array))

    make = lambda dtype, shape, data: jax.numpy.asarray(numpy_array(dtype, shape, data))
    return ["jax", "flax", "safetensors"], make, module.save_file, module.load_file, plain


def mlx():
    """Arrays of MLX through its own reader and writer."""
    import mlx.core as mx

    def make(dtype, shape, data):
        kind = getattr(mx, "bool_" if dtype == "BOOL" else NAMES[dtype])
        return mx.array(list(data), dtype=mx.uint8).view(kind).reshape(shape)

    def plain(array):
        # No array of one dimension and no elements can be viewed.
        data = bytes(memoryview(array.reshape(-1).view(mx.uint8))) if array.size else b""
        return str(array.dtype), array.shape, data

    save = lambda arrays, path: mx.save_safetensors(str(path), arrays)
    return ["mlx", "mlx-cpu"], make, save, lambda path: mx.load(str(path)), plain


def paddle():
    """Tensors of PaddlePaddle through safetensors.paddle."""
    import paddle
    import safetensors.paddle as module

    def make(dtype, shape, data):
        kind = getattr(paddle, NAMES[dtype])
        return paddle.base.core.frombuffer(data, kind).reshape(shape) if data else paddle.empty(shape, dtype=kind)

    def plain(tensor):
        # Some dtypes have no kernel that counts elements.
        size = math.prod(tensor.shape) * tensor.element_size()
        return str(tensor.dtype), tensor.shape, ctypes.string_at(tensor.data_ptr(), size) if size else b""

    return ["paddlepaddle", "safetensors"], make, module.save_file, module.load_file, plain


def sentence(error):
    """Returns the framework's own words about the first cause, in one line, without paths of this computer."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return words.replace(f"{HERE}/", "").replace(f"{sys.prefix}/", "")


def attempt(run):
    try:
        dtype, shape, data = run()
        return {"dtype": dtype, "shape": [int(dim) for dim in shape], "bytes": data.hex()}
    except (KeyboardInterrupt, SystemExit):
        raise
    # Errors of Rust, such as panics, are no `Exception`.
    except BaseException as error:
        return {"error": sentence(error)}


def run(folder, out, packages, make, save, load, plain):
    """Writes the file and the results of a framework.

    `make(dtype, shape, bytes)` returns its array, `plain(array)` the dtype, shape and bytes of one, `save(arrays, path)`
    writes a file and `load(path)` reads one.
    """
    made, written = {}, {}
    probe = out.with_name("probe")
    probe.mkdir(exist_ok=True)

    def write(name):
        value = VALUES[name]
        array = make(value["dtype"], value["shape"], bytes.fromhex(value["bytes"]))
        # Alone first: what a framework cannot write would otherwise spoil the file of all.
        save({name: array}, probe / "model.safetensors")
        made[name] = array
        return plain(array)

    for name in VALUES:
        written[name] = attempt(lambda: write(name))
    save(made, HERE / folder / "model.safetensors")
    results = {
        "versions": {package: importlib.metadata.version(package) for package in packages},
        "written": written,
        "read": {name: attempt(lambda: plain(load(OURS / f"{name}.safetensors")[name])) for name in VALUES},
        # Which dtype it reports may be another one each time.
        "reads_all": "error" not in attempt(lambda: plain(load(OURS / "all.safetensors")["F32"])),
    }
    out.write_text(json.dumps(results))


if __name__ == "__main__":
    framework, results = sys.argv[1:]
    run(framework, pathlib.Path(results), *globals()[framework]())
