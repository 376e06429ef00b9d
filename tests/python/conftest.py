"""Compares the library, the command and the Python package with what others make of the same files.

`cargo xtask test python` sets up the environment `main`, builds the command, and runs
`python3 -m pytest tests/python -m main`. The other marks are other environments: pytest.ini.
"""

import os
import random

import pytest

# Set for the workers of xdist, too. The same seed asks the same.
SEED = os.environ.setdefault("SUITE_SEED", str(random.randrange(1 << 32)))
# No search for accelerators, and fewer notes.
os.environ |= {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}


def pytest_report_header():
    return f"SUITE_SEED={SEED}"


def pytest_ignore_collect(collection_path, config):
    """Leaves out modules of other environments: what they import is not installed."""
    if collection_path.name.startswith("test_") and config.option.markexpr:
        return f"pytest.mark.{config.option.markexpr}" not in collection_path.read_text() or None
    return None


@pytest.fixture
def dice(request):
    """Returns random numbers of the test's own."""
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Returns an empty directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
