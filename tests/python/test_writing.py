"""Random dictionaries are written as the PyPI package `safetensors` writes them, byte for byte, and read as by it.

programs/writes.rs describes the protocol of the messages.
"""

import ctypes
import re
import struct
import subprocess

import pytest
from safetensors import TensorSpec, deserialize, safe_open, serialize, serialize_file
from safetensors.numpy import _TYPES as NUMPY
from support import built

pytestmark = pytest.mark.main

CASES, PARTS = 20_000, 4
# The package's names for some dtypes when it writes.
NAMES = {
    "F4": "float4_e2m1fn_x2", "F8_E4M3": "float8_e4m3fn", "F8_E8M0": "float8_e8m0fnu", "BF16": "bfloat16",
    "C64": "complex64",
}


def name_of(dtype):
    """Returns the package's name for a dtype when it writes."""
    name = re.sub("^(F|I|U)(?=[0-9])", lambda kind: {"F": "float", "I": "int", "U": "uint"}[kind[0]], dtype)
    return NAMES.get(dtype, name.lower())


def receive(stream):
    """Returns a message: a byte string after its length."""
    return stream.read(*struct.unpack("<I", stream.read(4)))


class Case:
    """A dictionary, and the program's file."""

    def __init__(self, stream):
        tensors, pairs, files = receive(stream).decode().split()
        self.is_identical = files == "identical"
        self.tensors = {}
        for _ in range(int(tensors)):
            name, dtype, dims, data = (receive(stream) for _ in range(4))
            dims = [int(dim) for dim in dims.decode().split()]
            self.tensors[name.decode()] = dtype.decode(), dims, data
        texts = [receive(stream).decode() for _ in range(0 if pairs == "-" else 2 * int(pairs))]
        self.metadata = None if pairs == "-" else dict(zip(texts[::2], texts[1::2]))
        self.file = receive(stream)

    def written(self, path):
        """Returns the package's own file, written through a real one if there is a path."""
        kept, specs = [], {}
        for name, (dtype, dims, data) in self.tensors.items():
            kept.append(ctypes.create_string_buffer(data, max(1, len(data))))
            # The package doubles the last dimension.
            shape = dims if dtype != "F4" else [*dims[:-1], dims[-1] // 2]
            specs[name] = TensorSpec(
                dtype=name_of(dtype), shape=shape, data_ptr=ctypes.addressof(kept[-1]), data_len=len(data)
            )
        if path is None:
            return bytes(serialize(specs, metadata=self.metadata))
        serialize_file(specs, path, metadata=self.metadata)
        return path.read_bytes()

    def read(self):
        """Reads the program's file into the form of the dictionary."""
        return {name: (info["dtype"], info["shape"], bytes(info["data"])) for name, info in deserialize(self.file)}

    def opened(self, path):
        """Reads the same from a file on disk, with its metadata. Values only for dtypes that numpy has."""
        path.write_bytes(self.file)
        tensors = {}
        with safe_open(path, framework="np") as file:
            for name in file.keys():
                dtype, dims = file.get_slice(name).get_dtype(), file.get_slice(name).get_shape()
                data = self.tensors[name][2]
                if dtype in NUMPY and len(dims) <= 64 and not any(dim >= 1 << 32 for dim in dims):
                    data = file.get_tensor(name).tobytes()
                tensors[name] = dtype, dims, data
            return tensors, file.metadata()


@pytest.mark.parametrize("part", range(PARTS))
def test_files_mean_the_same_in_both_directions(part, place, dice):
    words = [built("writes"), str(CASES // PARTS), str(dice.getrandbits(32))]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        for number in range(CASES // PARTS):
            case = Case(program.stdout)
            theirs = case.written(place / "theirs" if number % 4 == 0 else None)
            about = f"case {number} of {words[1:]}: {case.tensors}, {case.metadata}"
            assert not case.is_identical or case.file == theirs, about
            assert case.read() == case.tensors, about
            if number % 4 == 1 or case.metadata:
                # It does not distinguish an empty one from none.
                assert case.opened(place / "ours") in [(case.tensors, case.metadata or None), (case.tensors, case.metadata)], about
            program.stdin.write(struct.pack("<I", len(theirs)) + theirs)
            program.stdin.flush()
    assert program.returncode == 0
