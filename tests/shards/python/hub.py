"""Divides random models among shards with the PyPI package `huggingface_hub`, and compares them with a program's.

python3 hub.py [--cases N] [--seed N] -- PROGRAM

main.rs beside this file describes the protocol. The same seed gives the same models.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import huggingface_hub
import numpy
from huggingface_hub.serialization import split_state_dict_into_shards_factory
from huggingface_hub.serialization._base import parse_size_to_int
from safetensors.numpy import load_file, save_file

LETTERS = "abz.09_ é\"\\/\n\t\u007f\u2028\U0001f600"
PATTERN = "model{suffix}.safetensors"


def text(dice):
    return "".join(dice.choice(LETTERS) for _ in range(dice.randrange(12)))


def model(dice):
    """Returns tensors of bytes, in any order."""
    names = list(dict.fromkeys(text(dice) for _ in range(dice.randrange(12))))
    names = [name for name in names if name != "__metadata__"]
    sizes = [0, 1, 5, 100, 999, 1000, 1001, 2000]
    return {name: numpy.full(dice.choice(sizes), number, dtype=numpy.uint8) for number, name in enumerate(names)}


def save(state, max_size, metadata, directory):
    """Does the same as the package's `save_torch_state_dict`, for arrays, with the same code for the index."""
    split = split_state_dict_into_shards_factory(
        state, get_storage_size=lambda array: array.nbytes, filename_pattern=PATTERN, max_shard_size=max_size
    )
    for name, tensors in split.filename_to_tensors.items():
        save_file({tensor: state[tensor] for tensor in tensors}, os.path.join(directory, name), metadata={"format": "pt"})
    if split.is_sharded:
        index = {"metadata": {**split.metadata, **metadata}, "weight_map": split.tensor_to_filename}
        with open(os.path.join(directory, PATTERN.format(suffix="") + ".index.json"), "w") as file:
            json.dump(index, file, indent=2)
    return split


def files(directory):
    return {name: open(os.path.join(directory, name), "rb").read() for name in os.listdir(directory)}


def fault(case, ask):
    """Returns what is wrong, as text, or None; and the number of shards."""
    state, max_size, metadata, ours, theirs = case
    split = save(state, max_size, metadata, theirs)
    answer = ask({
        "max": str(max_size), "ours": ours, "theirs": theirs, "metadata": list(metadata.items()),
        "tensors": [[name, len(array)] for name, array in state.items()],
    })
    shards = len(split.filename_to_tensors)
    if state and files(ours) != files(theirs):
        return f"written\n{files(ours)}\nbut the package writes\n{files(theirs)}", shards
    loaded = {}
    for name in os.listdir(ours):
        if name.endswith(".safetensors"):
            loaded.update(load_file(os.path.join(ours, name)))
    if {name: array.tolist() for name, array in loaded.items()} != {name: array.tolist() for name, array in state.items()}:
        return f"loaded {loaded}", shards
    if answer["max"] != size(max_size):
        return f"{max_size} is read as {answer['max']}", shards
    expected = sorted([name, split.tensor_to_filename[name], len(array), sum(array.tolist())] for name, array in state.items())
    if shards > 1 and answer["tensors"] != expected:
        return f"opened\n{answer['tensors']}\nnot\n{expected}", shards
    return None, shards


def size(max_size):
    return max_size if isinstance(max_size, int) else parse_size_to_int(max_size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    print(f"huggingface_hub {huggingface_hub.__version__}, {options.cases} cases, --seed {options.seed}", flush=True)
    dice, total = random.Random(options.seed), 0
    program = subprocess.Popen(options.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(question):
        program.stdin.write(json.dumps(question) + "\n")
        program.stdin.flush()
        line = program.stdout.readline()
        return json.loads(line) if line else sys.exit(f"the program ended before its time: {question}")

    with tempfile.TemporaryDirectory() as directory:
        for number in range(options.cases):
            places = [os.path.join(directory, f"{number}-{who}") for who in ("ours", "theirs")]
            for place in places:
                os.mkdir(place)
            max_size = dice.choice([1, 100, 1000, 1001, 3000, "1KB", "0.5 kb", "2.25KB", "1MB"])
            metadata = {text(dice) + str(pair): text(dice) for pair in range(dice.randrange(3))}
            case = (model(dice), max_size, metadata, *places)
            wrong, shards = fault(case, ask)
            if wrong:
                sys.exit(f"case {number}: {case}: {wrong}")
            total += shards
    program.stdin.close()
    if program.wait():
        sys.exit("the program failed at its end")
    print(f"{options.cases} models in {total} files are divided, written and read alike, byte for byte")


main()
