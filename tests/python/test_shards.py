"""Compares models in several files, and packed ones, with what safetensors and huggingface_hub make and read.

python3 shards.py [--seed N] -- PROGRAM

PROGRAM is the command `safetensors`. What it splits must be what huggingface_hub would have made of it, byte for byte,
what huggingface_hub splits must be sound and join to the reference's own file, and what is packed must be read as it was
meant. The same seed asks the same. Ends non-zero on a difference.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import safetensors
import safetensors.numpy
from huggingface_hub.serialization import split_state_dict_into_shards_factory

ROUNDS = 24
TYPES = [numpy.dtype(name) for name in ("?", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8")]
LETTERS = "abcxyz.0_ é層\"\\"


class Checks:
    """Counts, and tells of what differs."""

    def __init__(self, program):
        self.program, self.done, self.wrong = program, 0, 0

    def run(self, *arguments, code=0):
        run = subprocess.run([self.program, *map(str, arguments)], capture_output=True, check=False)
        self.check(run.returncode == code, f"{arguments}: ended with {run.returncode}: {run.stderr.decode()}")
        return run.stdout

    def check(self, holds, what):
        self.done += 1
        if not holds:
            self.wrong += 1
            print(f"differs: {what}", file=sys.stderr)


def model(chance):
    """Tensors of random names, dtypes and shapes, in a random order."""
    tensors = {}
    for number in range(chance.randint(1, 24)):
        name = "".join(chance.choice(LETTERS) for _ in range(chance.randint(0, 9))) + str(number)
        shape = [chance.randint(0, 9) for _ in range(chance.randint(0, 3))]
        dtype = chance.choice(TYPES)
        size = int(numpy.prod(shape, dtype=int)) * dtype.itemsize
        values = numpy.frombuffer(chance.randbytes(size), "u1")
        values = values % 2 if dtype.kind == "b" else values
        tensors[name] = numpy.frombuffer(values.astype("u1").tobytes(), dtype).reshape(shape)
    return tensors


def split(tensors, most):
    """As huggingface_hub divides them."""
    return split_state_dict_into_shards_factory(
        tensors, get_storage_size=lambda array: array.nbytes, filename_pattern="model{suffix}.safetensors",
        max_shard_size=most,
    )


def index_of(division):
    """As huggingface_hub's `save_torch_state_dict` writes it."""
    return json.dumps({"metadata": division.metadata, "weight_map": division.tensor_to_filename}, indent=2).encode()


def same(one, other):
    """Whether two models are the same to the last bit."""
    return one.keys() == other.keys() and all(
        array.dtype == other[name].dtype and array.shape == other[name].shape
        and array.tobytes() == other[name].tobytes() for name, array in one.items()
    )


def loaded(folder):
    """As libraries load a model: by its index, or else its only file."""
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return safetensors.numpy.load_file(folder / "model.safetensors")
    tensors = {}
    for name, file in json.loads(index.read_bytes())["weight_map"].items():
        with safetensors.safe_open(folder / file, "numpy") as shard:
            tensors[name] = shard.get_tensor(name)
    return tensors


def offset_order(path):
    """Names in the order in which their data lie; empty ones that lie in one place by their names."""
    file = path.read_bytes()
    header = json.loads(file[8:8 + int.from_bytes(file[:8], "little")])
    header.pop("__metadata__", None)
    return sorted(header, key=lambda name: (header[name]["data_offsets"], name.encode()))


def check_split(checks, place, tensors, most):
    """What we split is what huggingface_hub would have made of the file."""
    whole, folder = place / "whole.safetensors", place / "ours"
    metadata = {"format": "pt"}
    safetensors.numpy.save_file(tensors, whole, metadata)
    checks.run("split", whole, "-o", folder, "--max-size", most)
    division = split({name: tensors[name] for name in offset_order(whole)}, most)
    files = set(division.filename_to_tensors)
    if division.is_sharded:
        files.add("model.safetensors.index.json")
        written = (folder / "model.safetensors.index.json").read_bytes()
        checks.check(written == index_of(division), f"the index of {most} bytes: {written}")
    checks.check({path.name for path in folder.iterdir()} == files, f"the files of {most} bytes")
    for file, names in division.filename_to_tensors.items():
        expected = safetensors.numpy.save({name: tensors[name] for name in names}, metadata)
        checks.check((folder / file).read_bytes() == expected, f"the shard {file} of {most} bytes")
    checks.check(same(loaded(folder), tensors), f"the model of {most} bytes, loaded")
    checks.run("check", folder)
    if division.is_sharded:
        checks.run("join", folder, "-o", place / "again.safetensors")
        again = (place / "again.safetensors").read_bytes()
        checks.check(again == whole.read_bytes(), "what is joined again")


def check_join(checks, place, tensors, most):
    """What huggingface_hub splits is sound, and joins to the reference's file."""
    folder = place / "theirs"
    folder.mkdir()
    division = split(tensors, most)
    for file, names in division.filename_to_tensors.items():
        shard = {name: tensors[name] for name in names}
        safetensors.numpy.save_file(shard, folder / file, {"format": "pt"})
    if not division.is_sharded:
        return
    index = folder / "model.safetensors.index.json"
    index.write_bytes(index_of(division))
    told = json.loads(checks.run("check", "--json", index))
    checks.check((told["tensors"], told["shards"]) == (len(tensors), len(division.filename_to_tensors)), told)
    checks.run("join", index, "-o", place / "joined.safetensors")
    joined = (place / "joined.safetensors").read_bytes()
    checks.check(joined == safetensors.numpy.save(tensors, {"format": "pt"}), "what is joined")
    file, names = division.filename_to_tensors.popitem()
    shard = {name: tensors[name] for name in names[1:]}
    safetensors.numpy.save_file(shard, folder / file, {"format": "pt"})
    checks.run("check", index, code=1)


def check_pack(checks, chance, place, tensors):
    """What is packed is read as it was meant."""
    whole, packed = place / "whole.safetensors", place / "packed.safetensors"
    names = list(tensors)
    gone, old = chance.choice(names), chance.choice(names)
    options = chance.choice([[], ["--order", "name"], ["--order", "file"], ["--align", "64"],
                             ["--align", "64", "--align-all"], ["--header-room", "100"]])
    if gone != old and "=" not in old:
        options += ["--rename", f"{old}=new=name"]
    pattern = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in gone)
    checks.run("pack", whole, "-o", packed, "--force", "--except", pattern, "--set", "k=é", *options)
    expected = {name: array for name, array in tensors.items() if name != gone}
    if "--rename" in options:
        expected["new=name"] = expected.pop(old)
    with safetensors.safe_open(packed, "numpy") as file:
        checks.check(file.metadata() == {"format": "pt", "k": "é"}, file.metadata())
        found = {name: file.get_tensor(name) for name in file.keys() if not name.startswith("__padding__.")}
    checks.check(same(found, expected), f"what is packed by {options}")
    if "name" in options:
        order = [name for name in offset_order(packed) if expected[name].nbytes]
        names = sorted((name for name in expected if expected[name].nbytes), key=str.encode)
        checks.check(order == names, "the order by names")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("program")
    arguments = parser.parse_args([argument for argument in sys.argv[1:] if argument != "--"])
    print(f"seed {arguments.seed}")
    chance, checks = random.Random(arguments.seed), Checks(arguments.program)
    for _ in range(ROUNDS):
        tensors = model(chance)
        total = sum(array.nbytes for array in tensors.values())
        with tempfile.TemporaryDirectory() as place:
            place, most = pathlib.Path(place), chance.randint(1, max(total, 1) + 10)
            check_split(checks, place, tensors, most)
            check_join(checks, place, tensors, most)
            check_pack(checks, chance, place, tensors)
    print(f"{checks.done} comparisons, {checks.wrong} differences")
    sys.exit(checks.wrong > 0)


if __name__ == "__main__":
    main()
