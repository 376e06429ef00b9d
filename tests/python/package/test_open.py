"""Opening files: what is closed, missing, changed or wrong."""

import os
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import embedded_safetensors.numpy as module
from embedded_safetensors import SafetensorError, _safe_open_handle, check, safe_open

pytestmark = pytest.mark.main

ARRAYS = {"b": np.arange(6.0).reshape(2, 3), "a": np.arange(3, dtype=np.uint8)}


@pytest.fixture
def saved(path):
    module.save_file(ARRAYS, path, {"key": "value"})
    return path


@pytest.mark.parametrize("backend", ["mmap", "pread", None])
def test_names_and_metadata(saved, backend):
    with safe_open(saved, "np", backend=backend) as file:
        assert file.keys() == ["a", "b"]
        assert file.offset_keys() == ["b", "a"]
        assert file.metadata() == {"key": "value"}
        file.keys().clear()
        assert file.keys() == ["a", "b"]
        assert list(file.get_tensors()) == ["b", "a"]


def test_no_metadata(path):
    module.save_file(ARRAYS, path)
    assert safe_open(path).metadata() is None


@pytest.mark.parametrize("backend", ["mmap", "pread", None])
def test_a_closed_file_has_tensors_no_more(saved, backend):
    with safe_open(saved, backend=backend) as file:
        part, tensor = file.get_slice("b"), file.get_tensor("b")
    for call in (file.keys, file.offset_keys, file.metadata, file.get_tensors, lambda: file.get_tensor("a")):
        with pytest.raises(SafetensorError, match="closed"):
            call()
    assert np.array_equal(part[1], tensor[1])


def test_missing_names(saved):
    with safe_open(saved) as file:
        for call in (file.get_tensor, file.get_slice, file.get_bytes):
            with pytest.raises(SafetensorError) as caught:
                call("c")
            assert (caught.value.tensor, caught.value.code) == ("c", "usage.missing")
            with pytest.raises(SafetensorError):
                call("\ud800")


def test_errors_of_the_system(tmp_path):
    for call in (safe_open, module.load_file, check):
        with pytest.raises(FileNotFoundError) as caught:
            call(tmp_path / "none")
        assert caught.value.filename == str(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        module.save_file(ARRAYS, tmp_path / "no directory" / "file")


def test_wrong_arguments(saved):
    for arguments in ({"framework": "keras"}, {"backend": "read"}, {"device": "cuda"}):
        with pytest.raises(SafetensorError):
            safe_open(saved, **arguments)
    with pytest.raises(TypeError):
        check(3)


def test_the_exception_has_all_members(saved):
    error = SafetensorError("text")
    assert (error.code, error.byte, error.tensor) == (None, None, None)
    assert issubclass(SafetensorError, ValueError)
    saved.write_bytes(saved.read_bytes().replace(b'"U8"', b'"U9"'))
    with pytest.raises(SafetensorError) as caught:
        check(saved)
    error = caught.value
    assert (error.code, error.tensor) == ("dtype.unknown", "a") and str(saved) in str(error)
    assert saved.read_bytes()[error.byte : error.byte + 4] == b'"U9"'
    assert pickle.loads(pickle.dumps(error)).args == error.args


def test_a_duplicate_name_is_named(path):
    entry = b'"one":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'
    header = b"{" + entry + b"," + entry + b"}"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"a")
    for source in (path, path.read_bytes()):
        with pytest.raises(SafetensorError) as caught:
            check(source)
        assert caught.value.tensor == "one"


def test_a_truncated_file_is_an_error_of_the_next_read(saved):
    with safe_open(saved, backend="pread") as file:
        os.truncate(saved, 100)
        with pytest.raises(SafetensorError, match="changed") as caught:
            file.get_tensor("b")
        assert caught.value.code == "usage.changed"
        with pytest.raises(SafetensorError, match="changed"):
            file.get_slice("b")[1]


def test_a_map_for_slices_is_not_used_after_the_file_has_changed(path):
    module.save_file({"a": np.zeros((100, 100))}, path)
    with safe_open(path) as file:
        assert file.get_slice("a")[:, ::2].shape == (100, 50)
        os.truncate(path, 100)
        with pytest.raises(SafetensorError, match="changed"):
            file.get_slice("a")[:, ::2]


def test_an_overwrite_during_a_copy_from_a_map_is_an_error(path):
    module.save_file({"a": np.zeros((1 << 13, 1 << 13), np.uint8)}, path)

    def overwrite():
        with path.open("r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"a")

    with safe_open(path) as file:
        part = file.get_slice("a")
        # With the times of files as coarse as they are.
        time.sleep(0.02)
        timer = threading.Timer(0.02, overwrite)
        timer.start()
        with pytest.raises(SafetensorError, match="changed"):
            part[:, ::2]
        timer.join()


def test_file_objects(saved):
    with open(saved, "rb") as handle, _safe_open_handle(handle, framework="np") as file:
        assert file.keys() == ["a", "b"]


def test_a_directory_and_its_index(tmp_path):
    index = module.save_sharded(ARRAYS, tmp_path, {"key": "value"}, max_shard_size="10B"[:-1])
    assert index == str(tmp_path / "model.safetensors.index.json")
    for path in (index, tmp_path):
        check(path)
        for backend in ("mmap", "pread", None):
            with safe_open(path, backend=backend) as file:
                assert file.keys() == ["a", "b"] and file.metadata() == {"key": "value"}
                assert all(np.array_equal(file.get_tensor(name), array) for name, array in ARRAYS.items())
                assert np.array_equal(file.get_slice("b")[:, ::2], ARRAYS["b"][:, ::2])
    (tmp_path / "model-00001-of-00002.safetensors").unlink()
    with pytest.raises(SafetensorError, match="missing"):
        safe_open(tmp_path)


def test_a_directory_with_one_file(tmp_path):
    path = module.save_sharded(ARRAYS, tmp_path)
    (tmp_path / "config.json").write_text("{}")
    check(tmp_path)
    assert module.load_file(tmp_path).keys() == module.load_file(path).keys() == ARRAYS.keys()
    with safe_open(tmp_path) as file:
        assert file.keys() == ["a", "b"]
    module.save_file({"other": ARRAYS["a"]}, tmp_path / "other.safetensors")
    assert module.load_file(tmp_path).keys() == ARRAYS.keys()
    (tmp_path / "model.safetensors").rename(tmp_path / "third.safetensors")
    with pytest.raises(SafetensorError) as caught:
        safe_open(tmp_path)
    names = '"other.safetensors", "third.safetensors"'
    assert str(caught.value) == f"{tmp_path}: contains 2 models: {names}; give the path of one"
    for path in tmp_path.glob("*.safetensors"):
        path.unlink()
    with pytest.raises(SafetensorError, match="it has no .*index"):
        safe_open(tmp_path)


@pytest.mark.parametrize("backend", ["mmap", "pread"])
def test_slices_are_iterated_over_by_rows(saved, backend):
    with safe_open(saved, backend=backend) as file:
        assert [row.tolist() for row in file.get_slice("b")] == ARRAYS["b"].tolist()
        assert np.array_equal(list(file.get_slice("a")), ARRAYS["a"])
    module.save_file({"a": np.array(1.0)}, saved)
    with safe_open(saved, backend=backend) as file, pytest.raises(TypeError, match="without axes"):
        iter(file.get_slice("a"))


def test_threads_share_a_file(path):
    arrays = {str(at): np.random.default_rng(at).random(50_000) for at in range(20)}
    module.save_file(arrays, path)
    wrong = []

    def read(file):
        for name, expected in arrays.items():
            if not np.array_equal(file.get_slice(name)[::2], file.get_tensor(name)[::2]):
                wrong.append(name)

    for backend in ("mmap", "pread", None):
        with safe_open(path, backend=backend) as file:
            threads = [threading.Thread(target=read, args=(file,)) for _ in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
    assert not wrong


def test_other_threads_run_during_a_long_call(path):
    long = {"a": np.zeros(1 << 28, np.uint8)}
    module.save_file(long, path)
    data = path.read_bytes()
    times, is_done = [], threading.Event()

    def run():
        while not is_done.wait(0.0002):
            times.append(time.perf_counter())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        for call in (lambda: module.load_file(path), lambda: module.load(data), lambda: module.save(long)):
            start = time.perf_counter()
            call()
            length = time.perf_counter() - start
            # Other threads may have a turn just before the call and just after it in any case.
            during = [time for time in times if start + length / 4 < time < start + length * 3 / 4]
            assert during
    finally:
        is_done.set()
        thread.join()


def run_python(code):
    """Runs a program in a process of its own, and returns its errors."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def test_the_alias_imports_only_what_the_program_does():
    assert not run_python("""
import sys, embedded_safetensors as ours
for call in range(2):
    ours.install_as_safetensors()
import safetensors, safetensors.numpy
from safetensors import safe_open
import embedded_safetensors.numpy as numpy
assert safe_open is ours.safe_open and safetensors.numpy is sys.modules["safetensors.numpy"] is numpy
assert numpy.__spec__.name == numpy.__name__ == "embedded_safetensors.numpy"
assert not {"torch", "jax", "safetensors._safetensors_rust"} & set(sys.modules)
import safetensors._safetensors_rust
assert safetensors._safetensors_rust.deserialize is ours.deserialize and safetensors.__file__ == ours.__file__
try:
    import safetensors.none
except ModuleNotFoundError as error:
    assert error.name == "safetensors.none"
""")


def test_the_alias_comes_before_other_imports():
    errors = run_python("import safetensors.numpy, embedded_safetensors as ours; ours.install_as_safetensors()")
    assert "RuntimeError: safetensors was imported earlier: call install_as_safetensors() before" in errors
