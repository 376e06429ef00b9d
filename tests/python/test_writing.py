"""Writes the dictionaries of a program with the PyPI package `safetensors`, and compares the files byte for byte.

python3 identity.py [--cases N] [--seed N] -- PROGRAM

main.rs beside this file describes the protocol. The same seed gives the same dictionaries.
"""

import argparse
import ctypes
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

import safetensors
from safetensors import TensorSpec, deserialize, safe_open, serialize, serialize_file
from safetensors.numpy import _TYPES as NUMPY

# The package's names for some dtypes when it writes.
NAMES = {
    "F4": "float4_e2m1fn_x2", "F8_E4M3": "float8_e4m3fn", "F8_E8M0": "float8_e8m0fnu", "BF16": "bfloat16",
    "C64": "complex64",
}


def name_of(dtype):
    """Returns the package's name for a dtype when it writes."""
    name = re.sub("^(F|I|U)(?=[0-9])", lambda kind: {"F": "float", "I": "int", "U": "uint"}[kind[0]], dtype)
    return NAMES.get(dtype, name.lower())


class Program:
    """The program's messages in both directions: byte strings after their lengths."""

    def __init__(self, words, cases, seed):
        words = [*words, str(cases), str(seed)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def receive(self):
        length = self.process.stdout.read(4)
        if len(length) < 4:
            sys.exit("the program ended before its time")
        return self.process.stdout.read(struct.unpack("<I", length)[0])

    def send(self, data):
        self.process.stdin.write(struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        if self.process.wait():
            sys.exit(f"the program ended with {self.process.returncode}")


class Case:
    """A dictionary, and the program's file."""

    def __init__(self, program):
        tensors, pairs, files = program.receive().decode().split()
        self.is_identical = files == "identical"
        self.tensors = {}
        for _ in range(int(tensors)):
            name, dtype, dims, data = (program.receive() for _ in range(4))
            dims = [int(dim) for dim in dims.decode().split()]
            self.tensors[name.decode()] = dtype.decode(), dims, data
        self.metadata = None if pairs == "-" else {}
        for _ in range(0 if pairs == "-" else int(pairs)):
            key, value = program.receive().decode(), program.receive().decode()
            self.metadata[key] = value
        self.file = program.receive()

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
        with open(path, "rb") as file:
            return file.read()

    def read(self):
        """Reads the program's file into the form of the dictionary."""
        return {name: (info["dtype"], info["shape"], bytes(info["data"])) for name, info in deserialize(self.file)}

    def opened(self, path):
        """Reads the same from a file on disk, with its metadata. Values only for dtypes that numpy has."""
        with open(path, "wb") as file:
            file.write(self.file)
        tensors = {}
        with safe_open(path, framework="np") as file:
            for name in file.keys():
                dtype, dims = file.get_slice(name).get_dtype(), file.get_slice(name).get_shape()
                data = self.tensors[name][2]
                if dtype in NUMPY and len(dims) <= 64 and not any(dim >= 1 << 32 for dim in dims):
                    data = file.get_tensor(name).tobytes()
                tensors[name] = dtype, dims, data
            return tensors, file.metadata()

    def fault(self, their_file, directory, number):
        """Returns what is wrong, as text; None if nothing."""
        if self.is_identical and self.file != their_file:
            return f"written\n{self.file}\nbut the package writes\n{their_file}"
        if self.read() != self.tensors:
            return f"{self.file}\nis read as\n{self.read()}"
        if number % 4 == 1 or len(self.metadata or {}) > 0:
            opened = self.opened(os.path.join(directory, "ours"))
            # It does not distinguish an empty one from none.
            if opened != (self.tensors, self.metadata or None) and opened != (self.tensors, self.metadata):
                return f"{self.file}\nis opened as\n{opened}"
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    print(f"safetensors {safetensors.__version__}, {options.cases} cases, --seed {options.seed}", flush=True)
    tensors, identical = 0, 0
    program = Program(options.program, options.cases, options.seed)
    with tempfile.TemporaryDirectory() as directory:
        for number in range(options.cases):
            case = Case(program)
            their_file = case.written(os.path.join(directory, "theirs") if number % 4 == 0 else None)
            fault = case.fault(their_file, directory, number)
            if fault:
                sys.exit(f"case {number}: {case.tensors}, {case.metadata}: {fault}")
            tensors += len(case.tensors)
            identical += case.is_identical
            program.send(their_file)
    program.end()
    print(f"{options.cases} files of {tensors} tensors mean the same in both directions, {identical} are byte-identical")


if __name__ == "__main__":
    main()
