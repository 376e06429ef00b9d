"""The reference's own tests of its Python package, those of numpy and torch."""

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
