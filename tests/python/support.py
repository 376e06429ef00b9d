"""What modules share: the programs, and files that are written and read by hand."""

import json
import os
import pathlib
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def built(name="safetensors"):
    """Returns the path of the command, or of a program that is built beside it."""
    command = os.environ.get("SAFETENSORS_BIN")
    assert command, "SAFETENSORS_BIN is not the command's path; `cargo xtask test python` builds it and the other programs"
    path = pathlib.Path(command).resolve().parent / name
    assert path.exists(), f"{path} is not built; `cargo xtask test python` builds it"
    return path


def run(*words, code=0, program=None):
    """Runs the command, or another program, which must end with this code, or any one; returns what it prints."""
    done = subprocess.run([program or built(), *map(str, words)], capture_output=True, check=False)
    assert code in (done.returncode, None), f"{words}: ended with {done.returncode}: {done.stderr.decode()}"
    return done.stdout


def refusal(*words, program=None):
    """Runs a program that must end with 1, and returns its only line of errors."""
    done = subprocess.run([program or built(), *map(str, words)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), f"{words}: ended with {done.returncode}: {done.stderr}"
    return done.stderr


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


def exact(one, other):
    """Whether two arrays are the same to the last bit."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
