"""What the tests of the Python package share."""

import json
import subprocess
import sys

import numpy as np
import pytest

from embedded_safetensors import safe_open


@pytest.fixture
def path(tmp_path):
    """Returns the path of a file that does not exist yet."""
    return tmp_path / "model.safetensors"


@pytest.fixture
def framework(path):
    """Returns a test of the module of a framework.

    It saves tensors, and compares what every function loads with their bytes and shapes. `to_numpy` makes an array of a
    tensor.
    """

    def test(module, name, tensors, to_numpy):
        shards = path.parent / "shards"
        shards.mkdir()
        expected = {key: to_numpy(tensor) for key, tensor in tensors.items()}
        module.save_file(tensors, path, {"made by": "a test"})
        assert path.read_bytes() == module.save(tensors, {"made by": "a test"})
        sharded = module.save_sharded(tensors, shards, max_shard_size="1KB")
        loaded = [module.load(path.read_bytes()), module.load_file(path), module.load_file(sharded)]
        loaded += [module.load_file(path, backend=backend) for backend in ("mmap", "pread")]
        for result in loaded:
            assert {key: like(to_numpy(tensor)) for key, tensor in result.items()} == {
                key: like(array) for key, array in expected.items()
            }
            assert all(type(result[key]) is type(tensors[key]) for key in tensors)
        for backend in ("mmap", "pread", None):
            with safe_open(path, name, backend=backend) as file:
                check_slices(file, expected, to_numpy)

    return test


def check_slices(file, expected, to_numpy):
    """Compares slices with those of numpy."""
    assert file.metadata() == {"made by": "a test"}
    for key, array in expected.items():
        assert like(to_numpy(file.get_tensor(key))) == like(array)
        part = file.get_slice(key)
        assert part.get_shape() == list(array.shape)
        if array.ndim == 2 and array.size:
            for index in (np.s_[1:], np.s_[0], np.s_[..., ::-1], np.s_[None, -1, 1:], np.s_[:, 100:], np.s_[0, 1]):
                assert like(to_numpy(part[index])) == like(array[index]), (key, index)


@pytest.fixture
def file_of():
    """Returns a function that makes a file with one tensor, `a`, of any dtype."""

    def make(dtype, shape, data):
        entry = {"dtype": dtype, "shape": shape, "data_offsets": [0, len(data)]}
        header = json.dumps({"a": entry}).encode()
        return len(header).to_bytes(8, "little") + header + data

    return make


def like(array):
    """Returns what is compared of an array."""
    return array.shape, array.dtype, array.tobytes()


NAMES = """
import sys
if sys.argv[1] == "alias":
    import embedded_safetensors
    embedded_safetensors.install_as_safetensors()
import safetensors
assert safetensors.__version__ == "0.8.0"
assert (safetensors.safe_open.__module__ == "embedded_safetensors._open") == (sys.argv[1] == "alias")
"""


@pytest.fixture
def under_both_names(tmp_path):
    """Returns a function that runs a program with the reference, and with this package as `safetensors`.

    The files of both are the same but for the order of metadata, which is random in the reference.
    """

    def run(program):
        homes = [tmp_path / "reference", tmp_path / "alias"]
        for home in homes:
            home.mkdir()
            subprocess.run([sys.executable, "-c", NAMES + program, home.name], check=True, cwd=home)
        reference, ours = [
            {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()} for home in homes
        ]
        assert ours.keys() == reference.keys() and len(ours) > 3
        assert {name: canonical(data) for name, data in ours.items()} == {
            name: canonical(data) for name, data in reference.items()
        }

    return run


def canonical(data):
    """Returns the bytes of a file with the keys of its header in order, if it has a header."""
    end = 8 + int.from_bytes(data[:8], "little")
    try:
        return json.dumps(json.loads(data[8:end]), sort_keys=True), data[end:]
    except ValueError:
        return data
