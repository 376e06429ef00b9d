#!/usr/bin/env python3
"""Asks a reader of PyPI: `python3 pypi.py NAME`, with a path on each line of stdin. NAME is a function here. One
that was built by hand is asked by `python3 pypi.py by_hand COMMAND`, with an adapter of hand/.

For each path, in order, a line of JSON on stdout: {"tensors": …, "metadata": …}, or {"error": "why"}. Each
function does what its users do: opens the file, lists the tensors and reads their data. An exception is a
rejection. What a reader does not tell is omitted; of metadata, a reader tells nothing if to it an absent object
and an empty one are the same.

Needs the packages of requirements.txt. Public domain (CC0-1.0).
"""

import contextlib
import hashlib
import importlib.util
import json
import math
import pathlib
import resource
import subprocess
import sys


def table_of(rows, metadata=None):
    """Returns a table of (name, dtype, shape, data or None, and perhaps offsets)."""
    tensors = {}
    for name, dtype, shape, data, *offsets in rows:
        tensors[name] = {"dtype": dtype, "shape": [plain(size) for size in shape]}
        if data is not None:
            tensors[name]["sha256"] = hashlib.sha256(data).hexdigest()
        if offsets:
            tensors[name]["data_offsets"] = offsets[0]
    return {"tensors": tensors, **({"metadata": metadata} if metadata else {})}


def plain(size):
    """Returns a dimension. Python's JSON reads NaN and Infinity, which JSON cannot write."""
    return str(size) if isinstance(size, float) and not math.isfinite(size) else size


def alone(package, module):
    """Loads a module without its package, which imports much that is not needed to read files."""
    found = importlib.util.find_spec(package).submodule_search_locations[0]
    path = pathlib.Path(found, module)
    spec = importlib.util.spec_from_file_location(f"{package}_{path.stem}", path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def safe_open(package):
    """Reads a file on disk. The data is not read: numpy does not have all dtypes."""

    def read(path):
        with package.safe_open(path, framework="numpy") as opened:
            slices = [(name, opened.get_slice(name)) for name in opened.keys()]
            rows = [(name, part.get_dtype(), part.get_shape(), None) for name, part in slices]
            return table_of(rows, opened.metadata())

    return read


def safetensors_deserialize():
    """Reads a file in memory. This function tells neither offsets nor metadata."""
    import safetensors

    def read(path):
        rows = safetensors.deserialize(path.read_bytes())
        return table_of((name, tensor["dtype"], tensor["shape"], tensor["data"]) for name, tensor in rows)

    return read


def safetensors_safe_open():
    import safetensors

    read = safe_open(safetensors)

    def read_all(path):
        # To this one, no metadata and empty metadata differ.
        with safetensors.safe_open(path, framework="numpy") as opened:
            return read(path) | {"metadata": opened.metadata()}

    return read_all


def by_hand():
    """Asks a program in the same way. It prints lines with words in hexadecimal, the last one `ok` or `error WHY`:
    `tensor NAME DTYPE DIMENSIONS DATA`, whose dimensions are decimal, with commas, and `metadata KEY VALUE`."""
    program = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    text = lambda word: bytes.fromhex(word).decode(errors="surrogateescape")

    def read(path):
        program.stdin.write(bytes(path) + b"\n")
        program.stdin.flush()
        rows, metadata = [], {}
        for line in program.stdout:
            kind, *words = line.decode().rstrip("\n").split(" ")
            if kind == "ok":
                return table_of(rows, metadata)
            if kind == "error":
                raise ValueError(text(words[0]))
            if kind == "metadata":
                metadata[text(words[0])] = text(words[1])
            else:
                name, dtype, shape, data = words
                rows.append((text(name), text(dtype), [int(size) for size in shape.split(",") if size], bytes.fromhex(data)))
        sys.exit(f"the program ended with {program.wait()}")

    return read


def cryptotensors():
    import cryptotensors

    return safe_open(cryptotensors)


def fastsafetensors():
    """The table from which all loaders of the package work. The data is not read: torch may not have all dtypes."""
    from fastsafetensors import SafeTensorsMetadata
    from fastsafetensors.frameworks import get_framework_op

    framework = get_framework_op("pytorch")

    def read(path):
        found = SafeTensorsMetadata.from_file(str(path), framework)
        tensors = found.tensors.items()
        rows = ((name, tensor.dtype.value, tensor.shape, None, tensor.data_offsets) for name, tensor in tensors)
        return table_of(rows, found.metadata)

    return read


def gguf():
    """The reader of llama.cpp's converter."""
    utility = alone("gguf", "utility.py")

    def read(path):
        with utility.SafetensorsLocal(path) as tensors:
            return table_of((name, found.dtype, found.shape, found.mmap_bytes()) for name, found in tensors.items())

    return read


def huggingface_hub():
    """Reads only the header."""
    from huggingface_hub import parse_local_safetensors_file_metadata

    def read(path):
        found = parse_local_safetensors_file_metadata(path)
        tensors = found.tensors.items()
        rows = ((name, tensor.dtype, tensor.shape, None, tensor.data_offsets) for name, tensor in tensors)
        return table_of(rows, found.metadata)

    return read


def modelvet():
    """A checker in C, which tells nothing but the verdict."""
    import modelvet as package

    def read(path):
        report = package.verify_safetensors(path.read_bytes())
        if not report.accepted:
            raise ValueError(f"{report.violation_name} at byte {report.offset}")
        return {"tensors": {}}

    return read


def mlx():
    """Loads the arrays, and reads their bytes."""
    import mlx.core as mx

    def read(path):
        arrays, metadata = mx.load(str(path), return_metadata=True)
        return table_of(((name, dtype(array), array.shape, data(array)) for name, array in arrays.items()), metadata)

    def dtype(array):
        kind = str(array.dtype).removeprefix("mlx.core.")
        short = {"bool": "BOOL", "bfloat16": "BF16", "complex64": "C64"}
        return short.get(kind, kind.replace("uint", "U").replace("int", "I").replace("float", "F"))

    def data(array):
        return bytes(memoryview(array.reshape(-1).view(mx.uint8))) if array.size else b""

    return read


def onnx_safetensors():
    """The steps of load_file, which needs a model with the names of the tensors."""
    from onnx_ir import external_data
    from onnx_safetensors import _safetensors_io as io

    names = {dtype: name for name, dtype in io._SAFETENSORS_DTYPE_TO_IR_DTYPE.items()}

    def read(path):
        found = io._read_safetensors(path.name, path.parent)
        loaded = external_data.convert_tensors_from_external(list(found.values()))
        rows = zip(found, loaded, strict=True)
        return table_of((name, names[tensor.dtype], tensor.shape, tensor.tobytes()) for name, tensor in rows)

    return read


def paddlenlp():
    """Its reader in plain Python. numpy has no BF16: that data is not read."""
    module = alone("paddlenlp", "utils/safetensors.py")

    def read(path):
        with module.fast_safe_open(path, framework="np") as opened:
            slices = [(name, opened.get_slice(name)) for name in opened.keys()]
            rows = [(name, part.info["dtype"], part.get_shape(), data(opened, name)) for name, part in slices]
            return table_of(rows) | {"metadata": opened.metadata()}

    def data(opened, name):
        is_known = opened.get_slice(name).info["dtype"] != "BF16"
        return opened.get_tensor(name).tobytes() if is_known else None

    return read


def pure_safetensors():
    """Maps the file."""
    from pure_safetensors import SafeTensors

    def read(path):
        with SafeTensors(str(path), "r") as opened:
            buffers = opened.as_buffer().items()
            rows = [(name, str(dtype), shape, bytes(buffer)) for name, (buffer, dtype, shape) in buffers]
            return table_of(rows, opened.metadata)

    return read


def safetensors_print():
    """A checker: a file with an error, to which its command ends with 1, is rejected."""
    from safetensors_print import reader

    Declaration = reader.MetadataDeclaration

    def read(path):
        report = reader.read_report(str(path))
        if report.has_errors:
            raise ValueError("; ".join(issue.message for issue in report.issues if issue.severity == reader.ERROR))
        offsets = lambda tensor: [tensor.begin, tensor.end]
        rows = ((tensor.name, tensor.dtype_name, tensor.shape, None, offsets(tensor)) for tensor in report.tensors)
        is_absent = report.metadata_declaration in (Declaration.ABSENT, Declaration.NULL)
        return table_of(rows) | {"metadata": None if is_absent else report.metadata}

    return read


def tinygrad():
    """Loads the tensors, and copies them from the disk into memory."""
    from tinygrad import Tensor
    from tinygrad.nn import state

    def read(path):
        loaded = {name: found.to("CPU") for name, found in state.safe_load(path).items()}
        if loaded:
            Tensor.realize(*loaded.values())
        rows = loaded.items()
        return table_of((name, state.inverse_safe_dtypes[found.dtype], found.shape, data(found)) for name, found in rows)

    def data(tensor):
        return tensor.uop.base.buffer.as_memoryview() if tensor.numel() else b""

    return read


def main():
    """Answers line by line."""
    read = globals()[sys.argv[1]]()
    # tinygrad keeps every file open.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    out = sys.stdout.buffer
    for line in sys.stdin:
        # What a reader prints is not its answer.
        with contextlib.redirect_stdout(sys.stderr):
            answer = ask(read, pathlib.Path(line.rstrip("\n")))
        # A name may have a lone surrogate, which is not UTF-8.
        out.write(json.dumps(answer, ensure_ascii=False).encode(errors="replace") + b"\n")
        out.flush()


def ask(read, path):
    """Returns the answer to one file."""
    try:
        return read(path)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
