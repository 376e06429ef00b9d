"""The command `safetensors` of the package."""

import json
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import embedded_safetensors.numpy as module

pytestmark = pytest.mark.main

COMMAND = Path(sysconfig.get_path("scripts")) / "safetensors"


def run(*words, **options):
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False, **options)


def test_good_and_bad_files(path):
    module.save_file({"a": np.zeros(3)}, path)
    good = run("check", path)
    assert (good.returncode, good.stderr) == (0, "") and ": ok, 1 tensor, " in good.stdout
    path.write_bytes(path.read_bytes()[:-1])
    bad = run("check", "--json", path)
    assert bad.returncode == 1 and json.loads(bad.stdout)["code"] == "data.short"


def test_usage():
    assert run("--version").stdout.startswith("safetensors ")
    assert (run("chekc").returncode, run().returncode) == (2, 2)
    assert json.loads(run("check", "--json").stdout)["error"] == "usage"


def test_standard_input(path):
    module.save_file({"a": np.zeros(3)}, path)
    with path.open() as file:
        assert run("check", "-", stdin=file).returncode == 0
