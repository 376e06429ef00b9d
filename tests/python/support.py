"""What modules share: the programs, and files that are written and read by hand."""

import json
import os
import pathlib
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = pathlib.Path("out.safetensors")
# The dtypes by their names in numpy and in ml_dtypes.
PAIRS = """bool BOOL, complex64 C64, bfloat16 BF16, float4_e2m1fn F4, float8_e4m3fn F8_E4M3, float8_e4m3fnuz F8_E4M3FNUZ,
    float8_e5m2 F8_E5M2, float8_e5m2fnuz F8_E5M2FNUZ, float8_e8m0fnu F8_E8M0, float16 F16, float32 F32, float64 F64, int8 I8,
    int16 I16, int32 I32, int64 I64, uint8 U8, uint16 U16, uint32 U32, uint64 U64"""
DTYPES = dict(pair.split() for pair in PAIRS.split(","))


def built():
    """Returns the path of the command."""
    command = os.environ.get("SAFETENSORS_BIN")
    assert command, "SAFETENSORS_BIN is not the command's path; `cargo xtask test python` builds it"
    return pathlib.Path(command).resolve()


def run(*words, code=0, program=None):
    """Runs the command, or another program, which must end with this code; returns what it prints."""
    done = subprocess.run([program or built(), *map(str, words)], capture_output=True, check=False)
    assert done.returncode == code, f"{words}: ended with {done.returncode}: {done.stderr.decode()}"
    return done.stdout


def write_model(path, tensors, metadata=None):
    """Writes tensors, name: (dtype, shape, bytes), in this order."""
    header, data = {"__metadata__": metadata} if metadata is not None else {}, b""
    for name, (dtype, shape, held) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(held)]}
        data += held
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_model(path):
    """Returns the tensors, as name: (dtype, shape, bytes), and the metadata."""
    data = path.read_bytes()
    end = 8 + struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:end])
    metadata, data = header.pop("__metadata__", {}), data[end:]
    return {name: (one["dtype"], tuple(one["shape"]), data[slice(*one["data_offsets"])]) for name, one in header.items()}, metadata


def converted(source, *options):
    """Converts a file, and returns the tensors and the metadata of the result, as `read_model` does."""
    run("convert", source, OUT, "--force", *options)
    return read_model(OUT)


def left_out(source):
    """Returns the values that are not converted, as "PATH KIND"; some of them if there are many."""
    said = json.loads(run("convert", source, OUT, "--dry-run", "--json", "--force"))
    return [f"{value['path']} {value['kind']}" for value in said.get("values_left_out", [])]


def rejected(source, sentence, what=None, code=1):
    """Converts a file that must be rejected with this sentence; returns what is said."""
    done = subprocess.run([built(), "convert", source, OUT, "--force"], capture_output=True, text=True, check=False)
    said = done.stderr
    is_sentence = said.count("\n") == 1 and sentence in said
    assert done.returncode == code and is_sentence, f"{what or source}: {done.returncode}: {said}"
    return said


def exact(one, other):
    """Whether two arrays are the same to the last bit."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def array_of(random, name, shape):
    """Returns an array of any bits that this dtype has."""
    import ml_dtypes
    import numpy

    dtype = numpy.dtype(getattr(ml_dtypes, name, None) or name)
    if name in ["float4_e2m1fn", "bool"]:
        return random.integers(0, 2 if name == "bool" else 16, shape).astype("u1").view(dtype)
    size = dtype.itemsize * int(numpy.prod(shape, dtype=int))
    return numpy.frombuffer(random.bytes(size), dtype).reshape(shape)
