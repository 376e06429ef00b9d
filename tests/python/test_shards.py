"""Models in several files, and packed ones, are what the packages safetensors and huggingface_hub make and read."""

import json
import pathlib

import numpy
import pytest
import safetensors
import safetensors.numpy
from huggingface_hub.serialization import split_state_dict_into_shards_factory
from huggingface_hub.serialization._base import parse_size_to_int
from support import exact, run

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


def same(one, other):
    """Whether two models are the same to the last bit."""
    return one.keys() == other.keys() and all(exact(array, other[name]) for name, array in one.items())


def loaded(folder):
    """Loads a model as libraries do: by its index, or else its only file."""
    if not (folder / INDEX).exists():
        return safetensors.numpy.load_file(folder / "model.safetensors")
    tensors = {}
    for name, file in json.loads((folder / INDEX).read_bytes())["weight_map"].items():
        with safetensors.safe_open(folder / file, "numpy") as shard:
            tensors[name] = shard.get_tensor(name)
    return tensors


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
    assert same(loaded(folder), tensors)
    run("check", folder)
    if (folder / INDEX).exists():
        run("join", folder, "-o", "again.safetensors")
        assert pathlib.Path("again.safetensors").read_bytes() == WHOLE.read_bytes()


def test_join(tensors, most, place):
    """What huggingface_hub splits is sound, joins to the reference's file, and misses what is taken out."""
    files = divided(tensors, most)
    for name, data in files.items():
        pathlib.Path(name).write_bytes(data)
    if not INDEX.exists():
        return
    told = json.loads(run("check", "--json", INDEX))
    assert (told["tensors"], told["shards"]) == (len(tensors), len(files) - 1)
    run("join", INDEX, "-o", "joined.safetensors")
    assert pathlib.Path("joined.safetensors").read_bytes() == safetensors.numpy.save(tensors, METADATA)
    assert same(embedded_safetensors.numpy.load_file(INDEX), tensors)
    shard = pathlib.Path(next(iter(files)))
    rest = dict(list(safetensors.numpy.load_file(shard).items())[1:])
    safetensors.numpy.save_file(rest, shard, METADATA)
    run("check", INDEX, code=1)


def test_library(tensors, most, place):
    """What the library writes at once is what huggingface_hub makes of the dictionary in its own order."""
    folder = place / "ours"
    folder.mkdir()
    embedded_safetensors.numpy.save_sharded(tensors, folder, METADATA, max_shard_size=str(most))
    assert written(folder) == divided(tensors, most)


def test_pack(tensors, place, dice):
    """What is packed is read as it was meant."""
    names = list(tensors)
    gone, old = dice.choice(names), dice.choice(names)
    options = dice.choice([[], ["--order", "name"], ["--order", "file"], ["--align", "64"],
                           ["--align", "64", "--align-all"], ["--header-room", "100"]])
    if gone != old and "=" not in old:
        options += ["--rename", f"{old}=new=name"]
    pattern = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in gone)
    options += ["--except", pattern] if len(names) > 1 else []  # a choice of no tensor is an error
    packed = pathlib.Path("packed.safetensors")
    run("pack", WHOLE, "-o", packed, "--set", "k=é", *options)
    expected = {name: array for name, array in tensors.items() if name != gone or len(names) == 1}
    if "--rename" in options:
        expected["new=name"] = expected.pop(old)
    with safetensors.safe_open(packed, "numpy") as file:
        assert file.metadata() == {"format": "pt", "k": "é"}
        found = {name: file.get_tensor(name) for name in file.keys() if not name.startswith("__padding__.")}
    assert same(found, expected), options
    if "name" in options:
        order = [name for name in offset_order(packed) if expected[name].nbytes]
        assert order == sorted((name for name in expected if expected[name].nbytes), key=str.encode)
