"""Writes files/*.safetensors with the Python package safestructures.

A file that differs only in the order of its metadata, which is random, stays.
"""

import dataclasses
import json
import pathlib
import tempfile

import numpy as np
import safestructures

FILES = pathlib.Path(__file__).with_name("files")


@dataclasses.dataclass
class Optimizer:
    name: str
    lr: float
    momentum: np.ndarray


class Range:
    """A type of one's own, of which safestructures knows nothing."""

    def __init__(self, low, high):
        self.low, self.high = low, high


# The name that the file gives it.
Range.__module__ = "sensors"


class RangeProcessor(safestructures.DataProcessor):
    data_type = Range

    def serialize(self, data):
        return [data.low, data.high]

    def serialize_extra(self, data):
        return {"unit": "degree"}

    def deserialize(self, serialized, **kwargs):
        return Range(*serialized)


def training():
    """Returns the state of a training: each type that the package knows, but complex numbers, at several levels."""
    layers = [
        {"weight": np.arange(12, dtype=np.float32).reshape(3, 4) / 8, "bias": np.array([0.5, -0.25, 2.0], np.float32)},
        {"weight": np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5, "bias": None},
    ]
    return {
        "epoch": 7,
        "lr": 0.015625,
        "note": 'läuft\n"gut"',
        "shuffle": True,
        "layers": layers,
        "shape": (3, 4, (2, 3)),
        "labels": {0: "no", 1: "yes"},
        "empty": [],
    }


def optimizer():
    return Optimizer("sgd", 1e-05, np.array([1, 2, 3], np.int64))


def cases():
    """Returns the name of each file, its value, its plugins and its metadata."""
    yield "training", training(), None, {"author": "nobody"}
    yield "dataclass", optimizer(), None, None
    yield "own-type", [Range(-40, 85.5), {(1, 2): {3}, 4: 1 + 2j}], RangeProcessor, None
    yield "no-tensors", [1, float("inf"), -(10**30)], None, None


def written():
    """Returns the bytes of each file."""
    with tempfile.TemporaryDirectory() as folder:
        for name, value, plugins, metadata in cases():
            path = pathlib.Path(folder, "file")
            safestructures.save_file(value, path, metadata=metadata, plugins=plugins)
            yield FILES / f"{name}.safetensors", path.read_bytes()


def parts(file):
    """Returns the header and the data."""
    end = 8 + int.from_bytes(file[:8], "little")
    return json.loads(file[8:end]), file[end:]


if __name__ == "__main__":
    FILES.mkdir(exist_ok=True)
    for path, file in written():
        if not path.exists() or parts(path.read_bytes()) != parts(file):
            path.write_bytes(file)
