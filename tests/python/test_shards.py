"""Models in several files are what the packages safetensors and huggingface_hub make and read."""

import json
import pathlib

import numpy
import pytest
import safetensors.numpy
from huggingface_hub.serialization import split_state_dict_into_shards_factory
from huggingface_hub.serialization._base import parse_size_to_int
from support import run

import embedded_safetensors.numpy

pytestmark = pytest.mark.main

ROUNDS = 24
TYPES = [numpy.dtype(name) for name in ("?", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8")]
LETTERS = "abcxyz.0_ é層\"\\/\n\t\u007f\u2028\U0001f600"
INDEX, WHOLE = map(pathlib.Path, ["model.safetensors.index.json", "whole.safetensors"])
METADATA = {"format": "pt"}


@pytest.fixture(params=range(ROUNDS))
def tensors(request, place, dice):
    """Returns tensors of random names, dtypes and shapes, in a random order."""
    tensors = {}
    for number in range(dice.randint(1, 24)):
        name = "".join(dice.choice(LETTERS) for _ in range(dice.randint(0, 9))) + str(number)
        shape = [dice.randint(0, 9) for _ in range(dice.randint(0, 3))]
        dtype = dice.choice(TYPES)
        values = numpy.frombuffer(dice.randbytes(int(numpy.prod(shape, dtype=int)) * dtype.itemsize), "u1")
        values = values % 2 if dtype.kind == "b" else values
        tensors[name] = numpy.frombuffer(values.astype("u1").tobytes(), dtype).reshape(shape)
    safetensors.numpy.save_file(tensors, WHOLE, METADATA)
    return tensors


@pytest.fixture
def most(tensors, dice):
    """Returns the size of a shard, as a number or as a text."""
    total = sum(array.nbytes for array in tensors.values())
    return dice.choice([dice.randint(1, total + 10), "1KB", "0.5 kb", "2.25KB", "1MB"])


def divided(tensors, most):
    """Divides tensors as huggingface_hub's `save_torch_state_dict` does; returns its files."""
    division = split_state_dict_into_shards_factory(
        tensors, get_storage_size=lambda array: array.nbytes, filename_pattern="model{suffix}.safetensors", max_shard_size=most
    )
    files = {name: safetensors.numpy.save({key: tensors[key] for key in keys}, METADATA)
             for name, keys in division.filename_to_tensors.items()}
    if division.is_sharded:
        index = {"metadata": division.metadata, "weight_map": division.tensor_to_filename}
        files[INDEX.name] = json.dumps(index, indent=2).encode()
    return files


def written(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def offset_order(path):
    """Returns names in the order in which their data lie; empty ones that lie in one place by their names."""
    file = path.read_bytes()
    header = json.loads(file[8:8 + int.from_bytes(file[:8], "little")])
    header.pop("__metadata__", None)
    return sorted(header, key=lambda name: (header[name]["data_offsets"], name.encode()))


def test_split(tensors, most, place):
    """What we split is what huggingface_hub makes of the file, byte for byte, and joins to it again."""
    folder = place / "ours"
    run("split", WHOLE, "-o", folder, "--max-size", most if isinstance(most, int) else parse_size_to_int(most))
    assert written(folder) == divided({name: tensors[name] for name in offset_order(WHOLE)}, most)
    run("check", folder)
    if (folder / INDEX).exists():
        run("join", folder, "-o", "again.safetensors")
        assert pathlib.Path("again.safetensors").read_bytes() == WHOLE.read_bytes()


def test_library(tensors, most, place):
    """What the library writes at once is what huggingface_hub makes of the dictionary in its own order."""
    folder = place / "ours"
    folder.mkdir()
    embedded_safetensors.numpy.save_sharded(tensors, folder, METADATA, max_shard_size=str(most))
    assert written(folder) == divided(tensors, most)
