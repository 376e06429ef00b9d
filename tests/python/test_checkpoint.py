"""The command verifies checkpoints that Python writes, with the packages safetensors and hashlib; and Python those of the command."""

import hashlib
import json
import pathlib
import shutil
import subprocess

import numpy
import pytest
import safetensors.numpy
from support import exact, run

pytestmark = pytest.mark.main


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def state(seed):
    """Returns the tensors of a model in training."""
    chance = numpy.random.default_rng(seed)
    return {
        "embed.weight": chance.standard_normal((50, 16)).astype(numpy.float32),
        "head.weight": chance.standard_normal((3, 16)).astype(numpy.float16),
        "head.bias": numpy.zeros(3, numpy.float32),
        "steps": numpy.array(seed, numpy.int64),
        "empty": numpy.zeros((0, 4), numpy.float32),
    }


def save(folder, seed):
    """Writes a checkpoint as training loops do: all of it beside its path, then atomically."""
    hidden = pathlib.Path(f".{folder}.tmp")
    hidden.mkdir()
    safetensors.numpy.save_file(state(seed), hidden / "model.safetensors", {"format": "np"})
    safetensors.numpy.save_file({"moment": state(seed + 1)["embed.weight"]}, hidden / "optimizer.safetensors")
    (hidden / "trainer.json").write_text(json.dumps({"step": seed, "loss": 0.5}), encoding="utf-8")
    files = sorted(hidden.iterdir())
    sums = "".join(f"{sha256(path.read_bytes())}  {path.name}\n" for path in files)
    (hidden / "SHA256SUMS").write_text(sums, encoding="utf-8")
    hidden.rename(folder)
    return [path.name for path in files]


@pytest.mark.parametrize("seed", range(2))
def test_checkpoints_of_python_are_verified(seed, place):
    names = save("theirs", seed)
    assert run("hash", "--verify", "theirs").decode() == "".join(f"theirs/{name}: ok\n" for name in names)
    path = pathlib.Path("theirs", names[seed])
    path.write_bytes(path.read_bytes()[:-1])
    assert f"{path}: changed: its sum is " in run("hash", "--verify", "theirs", code=1).decode()


@pytest.mark.parametrize("seed", range(2))
def test_checkpoints_of_the_command(seed, place):
    """A checkpoint from the command, over one that is there, read here."""
    tensors = state(seed)
    safetensors.numpy.save_file(tensors, "model.safetensors", {"format": "np"})
    pathlib.Path("trainer.json").write_text("{}", encoding="utf-8")
    for _ in range(2):
        run("checkpoint", "--force", "ours", "model.safetensors", "--also", "trainer.json")
    listed = dict(reversed(line.split("  ")) for line in pathlib.Path("ours/SHA256SUMS").read_text().splitlines())
    assert sorted(path.name for path in pathlib.Path("ours").iterdir()) == sorted([*listed, "SHA256SUMS"])
    assert all(sha256(pathlib.Path("ours", name).read_bytes()) == expected for name, expected in listed.items())
    found = safetensors.numpy.load_file("ours/model.safetensors")
    assert found.keys() == tensors.keys() and all(exact(found[name], tensor) for name, tensor in tensors.items())
    assert sorted(path.name for path in place.iterdir()) == ["model.safetensors", "ours", "trainer.json"]
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd="ours", check=True)


def test_sums_are_those_of_hashlib(place):
    tensors = state(1)
    safetensors.numpy.save_file(tensors, "model.safetensors")
    data = pathlib.Path("model.safetensors").read_bytes()
    assert run("hash", "model.safetensors").decode() == f"{sha256(data)}  model.safetensors\n"
    (file,) = json.loads(run("hash", "--json", "model.safetensors"))["files"]
    assert (file["bytes"], file["sha256"]) == (len(data), sha256(data))
    expected = {name: (list(tensor.shape), sha256(tensor.tobytes())) for name, tensor in tensors.items()}
    assert {name: (row["shape"], row["sha256"]) for name, row in file["tensors"].items()} == expected
