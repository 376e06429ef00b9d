"""Runs the reference's own tests of its Python package with this package: `pytest -p alias` in their directory.

Files that need a framework which is not installed are left out. `cargo xtask test python-reference` has numpy and torch.

The tests import `safetensors`, which is this package here. A test that this package does not pass is in `EXCEPTIONS`
with the reason. Such a test must fail; otherwise the list is wrong.
"""

import importlib.abc
import importlib.util
import sys

import pytest

import embedded_safetensors

EXCEPTIONS = {
    "test_simple.py::ErrorsTestCase::test_file_not_found": "expects another text than the system's; the exception has "
    "the same type, with errno and filename",
    "test_simple.py::ReadmeTestCase::test_numpy_slice": "expects an error where numpy ends a slice at the end of the axis "
    "(`[:20]` of 10 rows), and the texts of other errors",
}

# The packages that a file of tests needs.
NEEDS = {
    "test_flax_comparison.py": ["jax", "flax"],
    "test_mlx_comparison.py": ["mlx"],
    "test_paddle_comparison.py": ["paddle"],
    "test_tf_comparison.py": ["tensorflow", "h5py"],
    "test_multithreaded.py": ["torch"],
    "test_pread_backend.py": ["torch"],
    "test_pt_comparison.py": ["torch"],
    "test_pt_model.py": ["torch"],
    "test_simple.py": ["torch"],
}

# Tests that fail with any package where there is no GPU.
NEED_GPU = {
    "test_paddle_comparison.py::WithOpenCase::test_paddle_tensor_gpu",
    "test_paddle_comparison.py::WithOpenCase::test_paddle_slice_gpu",
}

skipped = []


class Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `safetensors.NAME` as `embedded_safetensors.NAME`."""

    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name.startswith("safetensors.") else None

    def create_module(self, spec):
        return importlib.import_module(spec.name.replace("safetensors", "embedded_safetensors", 1))

    def exec_module(self, module):
        pass


sys.modules["safetensors"] = embedded_safetensors
sys.meta_path.insert(0, Alias())


def pytest_ignore_collect(collection_path):
    """Leaves out the tests of frameworks that are not installed."""
    missing = [need for need in NEEDS.get(collection_path.name, []) if importlib.util.find_spec(need) is None]
    if missing and collection_path.name not in [name for name, _ in skipped]:
        skipped.append((collection_path.name, ", ".join(missing)))
    return True if missing else None


def pytest_collection_modifyitems(items):
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        if name in NEED_GPU and not sys.modules["paddle"].device.is_compiled_with_cuda():
            item.add_marker(pytest.mark.skip(reason="needs a GPU"))
        reason = EXCEPTIONS.get(name)
        if reason:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def pytest_terminal_summary(terminalreporter):
    for name, missing in skipped:
        terminalreporter.write_line(f"left out: {name} needs {missing}")
