#!/usr/bin/env python3
"""Runs a Python reader on the vectors: `python3 reader.py NAME DIRECTORY [--large]`.

For each vector, the directory gets a file named after the vector's checksum: the table of the runner protocol, or an
empty file if the reader rejects the vector. There is no file if it crashes.

deserialize and safe_open are functions of the reference's package. gguf (the converter of llama.cpp) and tinygrad share
no code with it: they are pure Python, on Python's own JSON library. They do what their users
would do: open the file, name the tensors.

Needs the package of the reader in the release of requirements.txt, and no other. Public domain (CC0-1.0).
"""

import hashlib
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import types

from runner import vectors


def deserialize():
    """Reads the tensors of a file in memory. This function reports neither offsets nor metadata."""
    import safetensors

    def read(path):
        tensors = dict(safetensors.deserialize(path.read_bytes()))
        for tensor in tensors.values():
            tensor["sha256"] = hashlib.sha256(tensor.pop("data")).hexdigest()
        return {"tensors": tensors}

    return read, safetensors.SafetensorError


def safe_open():
    """Reads the tensors and the metadata of a file on disk. This function reports neither offsets nor bytes."""
    import safetensors

    def read(path):
        with safetensors.safe_open(path, framework="numpy") as opened:
            slices = [(name, opened.get_slice(name)) for name in opened.keys()]
            tensors = {name: {"dtype": tensor.get_dtype(), "shape": tensor.get_shape()} for name, tensor in slices}
            return {"tensors": tensors, "metadata": opened.metadata()}

    return read, safetensors.SafetensorError


def gguf():
    """Only the module with the reader is loaded: the others of the package need more packages."""
    package = importlib.util.find_spec("gguf").submodule_search_locations[0]
    spec = importlib.util.spec_from_file_location("gguf_utility", pathlib.Path(package) / "utility.py")
    utility = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = utility
    spec.loader.exec_module(utility)

    def read(path):
        with utility.SafetensorsLocal(path) as tensors:
            # It accepts NaN as a dimension; JSON has none.
            shapes = {name: [size if size == size else None for size in tensor.shape] for name, tensor in tensors.items()}
            return {"tensors": {name: {"dtype": tensors[name].dtype, "shape": shapes[name]} for name in shapes}}

    return read, Exception


def tinygrad():
    """The tensors stay on disk."""
    from tinygrad.nn import state

    def read(path):
        tensors = state.safe_load(path).items()
        dtypes = state.inverse_safe_dtypes
        return {"tensors": {name: {"dtype": dtypes[tensor.dtype], "shape": tensor.shape} for name, tensor in tensors}}

    return read, Exception


#: Loads each reader: the function that reads, and the exception with which it rejects a file.
READERS = {load.__name__: load for load in (deserialize, safe_open, gguf, tinygrad)}


def main():
    """Runs a reader on every vector."""
    name, directory, *large = sys.argv[1:]
    # Readers import numpy at once, but use it only for values, which are not read here.
    if importlib.util.find_spec("numpy") is None:
        sys.modules["numpy"] = types.ModuleType("numpy")
    read, refusal = READERS[name]()
    load_all(read)
    for vector in vectors.load()["vectors"]:
        if large or not vector.get("large"):
            ask(read, refusal, vectors.content(vector), pathlib.Path(directory, vector["sha256"]))


def load_all(read):
    """Reads a file first, so that lazily loaded modules are not loaded again in each process."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        header = b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
        file.write(len(header).to_bytes(8, "little") + header + b"\1")
        file.flush()
        read(pathlib.Path(file.name))


def ask(read, refusal, data, answer):
    """Runs the reader on one file, in a process of its own: it may crash, and tinygrad keeps every file open."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(data)
        file.flush()
        if os.fork() == 0:
            try:
                table = read(pathlib.Path(file.name))
            except refusal:
                answer.touch()
            else:
                # A lone surrogate in a name is not UTF-8.
                answer.write_bytes(json.dumps(table, ensure_ascii=False).encode(errors="replace"))
            finally:
                os._exit(0)
        os.wait()


if __name__ == "__main__":
    main()
