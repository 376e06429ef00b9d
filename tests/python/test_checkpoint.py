"""The command verifies checkpoints that Python writes, and coreutils and the reference those of the command."""

import hashlib
import json
import pathlib
import subprocess

import numpy
import pytest
import safetensors.numpy
from support import exact, run

pytestmark = pytest.mark.main

TENSORS = {
    "embed.weight": numpy.arange(800, dtype=numpy.float32).reshape(50, 16),
    "head.weight": numpy.ones((3, 16), numpy.float16),
    "steps": numpy.array(3, numpy.int64),
    "empty": numpy.zeros((0, 4), numpy.float32),
}


def test_checkpoints_of_python_are_verified(place):
    """Training loops write all of it beside its path, then atomically."""
    hidden = pathlib.Path(".theirs.tmp")
    hidden.mkdir()
    safetensors.numpy.save_file(TENSORS, hidden / "model.safetensors", {"format": "np"})
    (hidden / "trainer.json").write_text(json.dumps({"loss": 0.5}), encoding="utf-8")
    files = sorted(hidden.iterdir())
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (hidden / "SHA256SUMS").write_text(sums, encoding="utf-8")
    hidden.rename("theirs")
    assert run("hash", "--verify", "theirs") == b"theirs/model.safetensors: ok\ntheirs/trainer.json: ok\n"
    path = pathlib.Path("theirs/model.safetensors")
    path.write_bytes(path.read_bytes()[:-1])
    assert f"{path}: changed: its sum is " in run("hash", "--verify", "theirs", code=1).decode()


def test_checkpoints_of_the_command(place):
    """One over another that is there."""
    safetensors.numpy.save_file(TENSORS, "model.safetensors", {"format": "np"})
    pathlib.Path("trainer.json").write_text("{}", encoding="utf-8")
    for _ in range(2):
        run("checkpoint", "--force", "ours", "model.safetensors", "--also", "trainer.json")
    assert sorted(path.name for path in place.iterdir()) == ["model.safetensors", "ours", "trainer.json"]
    assert sorted(path.name for path in (place / "ours").iterdir()) == ["SHA256SUMS", "model.safetensors", "trainer.json"]
    subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd="ours", check=True)
    found = safetensors.numpy.load_file("ours/model.safetensors")
    assert found.keys() == TENSORS.keys() and all(exact(found[name], tensor) for name, tensor in TENSORS.items())
