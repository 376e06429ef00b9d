"""Writes and reads safetensors in a few lines: enough for these models, but without validation."""

import json
import struct

import numpy as np

DTYPES = {"I32": np.dtype("<i4"), "F16": np.dtype("<f2"), "I8": np.dtype("i1"), "U8": np.dtype("u1")}


def encoded(tensors, metadata):
    """Returns the file, with the widest elements first and then by name, as the reference sorts tensors."""
    header = {"__metadata__": dict(sorted(metadata.items()))}
    data = b""
    for name, tensor in sorted(tensors.items(), key=lambda pair: (-pair[1].dtype.itemsize, pair[0])):
        dtype = next(dtype for dtype, kind in DTYPES.items() if kind == tensor.dtype)
        end = len(data) + tensor.nbytes
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [len(data), end]}
        data += tensor.tobytes()
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def decoded(file):
    """Returns the tensors by name, and the metadata."""
    (length,) = struct.unpack_from("<Q", file)
    header = json.loads(file[8 : 8 + length])
    metadata = header.pop("__metadata__")
    data = file[8 + length :]
    return {name: tensor(entry, data) for name, entry in header.items()}, metadata


def tensor(entry, data):
    begin, end = entry["data_offsets"]
    return np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
