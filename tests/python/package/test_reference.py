"""This package in the place of the reference: the reference's own tests, those of numpy and torch, and programs."""

import os
import pathlib
import subprocess
import sys
import tarfile

import pytest
from support import built

pytestmark = pytest.mark.torch

RELEASE = "safetensors-0.8.0"
TESTS = ["test_simple.py", "test_pt_comparison.py", "test_pt_model.py", "test_multithreaded.py", "test_pread_backend.py"]


def test_the_tests_of_the_reference_pass_but_the_listed_exceptions(place):
    home = built().parent / "reference"
    archive = home / f"{RELEASE}.tar.gz"
    if not archive.exists():
        words = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", str(home)]
        path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
        subprocess.run([sys.executable, "-m", "pip", *words, RELEASE.replace("-", "==")], check=True, env=os.environ | {"PATH": path})
    with tarfile.open(archive) as sources:
        sources.extractall(place)
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "reference", "-q", "-rx", *(f"tests/{name}" for name in TESTS)]
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parent)}
    subprocess.run(words, check=True, cwd=place / RELEASE / "bindings/python", env=environment)


def test_huggingface_hub_does_the_same_under_the_alias(under_both_names):
    under_both_names("""
import pathlib, torch
from huggingface_hub import PyTorchModelHubMixin, load_torch_model, save_torch_model

class Model(torch.nn.Module, PyTorchModelHubMixin):
    def __init__(self, width):
        super().__init__()
        self.one, self.other = torch.nn.Linear(width, width), torch.nn.Linear(width, width)
        self.other.weight = self.one.weight

def check(other):
    assert all(torch.equal(other.state_dict()[name], tensor) for name, tensor in model.state_dict().items())

torch.manual_seed(0)
model, other = Model(width=20), Model(width=20)
for directory in "hub", "sharded":
    pathlib.Path(directory).mkdir()
# Otherwise it makes one, for which it needs another package.
pathlib.Path("hub/README.md").touch()
model.save_pretrained("hub")
check(Model.from_pretrained("hub"))
save_torch_model(model, "sharded", max_shard_size="1KB")
load_torch_model(other, "sharded", strict=False)
check(other)
""")
