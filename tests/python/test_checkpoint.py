"""The command verifies checkpoints that Python writes, with the packages safetensors and hashlib; and Python those of the command."""

import hashlib
import json
import pathlib
import shutil
import subprocess

import numpy
import pytest
import safetensors.numpy
from support import built, exact, run

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


def flipped(data):
    """Returns the data with one bit changed."""
    at = len(data) * 2 // 3
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


# How a file is changed, and what is said of it.
CHANGES = {
    "a bit": (lambda path: path.write_bytes(flipped(path.read_bytes())), "theirs/{}: changed: its sum is "),
    "shorter": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "theirs/{}: changed: its sum is "),
    "missing": (lambda path: path.unlink(), "theirs/{}: missing\n"),
    "added": (lambda path: shutil.copy(path, path.with_name("more")), "theirs/more: added"),
}


@pytest.mark.parametrize("seed", range(2))
def test_checkpoints_of_python_are_verified(seed, place):
    names = save("theirs", seed)
    assert run("hash", "--verify", "theirs").decode() == "".join(f"theirs/{name}: ok\n" for name in names)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "trainer.json"])
def test_tampered_files_are_found(name, change, place):
    save("theirs", 3)
    change, line = CHANGES[change]
    change(pathlib.Path("theirs", name))
    assert line.format(name) in run("hash", "--verify", "theirs", code=1).decode()


@pytest.mark.parametrize("change", [lambda text: text[:-3], lambda text: text * 2], ids=["shorter", "twice"])
def test_wrong_lists_of_sums_are_refused(change, place):
    save("theirs", 3)
    sums = pathlib.Path("theirs/SHA256SUMS")
    sums.write_text(change(sums.read_text()))
    done = subprocess.run([built(), "hash", "--verify", "theirs"], capture_output=True, check=False)
    assert done.returncode in (1, 2)


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
