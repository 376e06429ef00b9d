"""Commands as functions, and tensors that are overwritten in place."""

import json
import math
import os
import pickle
import signal
import socket

import numpy as np
import pytest

import embedded_safetensors.numpy as module
from embedded_safetensors import SafetensorError, _core, _tools, convert, merge, repair, safe_open, scan, set_tensor

pytestmark = pytest.mark.main


def test_random_models_are_those_of_numpy(place, dice):
    new = lambda shape: np.array([dice.gauss(0, 1) for _ in range(math.prod(shape))], np.float32).reshape(shape)
    for _ in range(5):
        shapes = [[dice.randint(1, 5) for _ in range(dice.randint(0, 4))] for _ in range(5)]
        one, two = ({f"t{number}": new(shape) for number, shape in enumerate(shapes)} for _ in range(2))
        module.save_file(one, "1.safetensors")
        module.save_file(two, "2.safetensors")
        assert merge(["1.safetensors", "2.safetensors"], "3.safetensors", weights=[0.25, 0.75], force=True)["tensors"] == 5
        mean = {name: np.float32(0.25 * one[name].astype(float) + 0.75 * two[name].astype(float)) for name in one}
        assert module.save(module.load_file("3.safetensors")) == module.save(mean)
        assert convert("1.safetensors", place / "4.safetensors", to="F16", force=True)["ok"]
        narrow = {name: array.astype(np.float16) for name, array in one.items()}
        assert module.save(module.load_file("4.safetensors")) == module.save(narrow)
        for name, array in one.items():
            axis = lambda size: dice.choice([dice.randrange(size), np.s_[::-1], np.s_[dice.randrange(size) :: 2], np.s_[size:]])
            index = (*map(axis, array.shape), *dice.choice([[], [...], [None]]))
            array[index] = part = new(array[index].shape)
            set_tensor("1.safetensors", name, part, slice=index)
        assert (place / "1.safetensors").read_bytes() == module.save(one)


def test_what_is_not_set(path):
    module.save_file({"a": np.zeros((2, 3))}, path)
    _tools._run("hash", path, None, {"embed": True})
    set_tensor(path, "a", np.ones((2, 3)))
    assert _tools._run("hash", path, None, {"check_embedded": True})[0]["ok"]
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    for array, index, code in [
        (np.zeros(2), 0, "usage.shape"),
        (np.zeros((2, 3)), np.s_[None, ::-1], "usage.shape"),
        (np.zeros((2, 3), np.float32), None, "usage.values"),
        (np.zeros(3), 2, "usage.slice"),
        (np.zeros((2, 3)), None, "integrity.sum"),  # a new sum would hide the damage
    ]:
        with pytest.raises(SafetensorError) as caught:
            set_tensor(path, "a", array, slice=index)
        assert caught.value.code == code
    assert module.load_file(path)["a"][1, 1] == 1


def test_results_and_errors_of_commands(place):
    (place / "bad").write_bytes(pickle.dumps(os.getcwd))
    (place / "short").write_bytes(module.save({"a": np.ones(3), "b": np.ones(3)})[:-1])
    bad, good = scan(["bad", place / "short"])
    assert (bad["ok"], good["ok"]) == (False, True) and "getcwd" in json.dumps(bad)
    assert [lost["name"] for lost in repair("short", "whole.safetensors")["lost"]] == ["b"]
    for options, code in [({}, "data.short"), ({"tto": "F16"}, "usage")]:
        with pytest.raises(SafetensorError) as caught:
            convert("short", "out.npz", **options)
        assert (caught.value.code, caught.value.byte is None) == (code, bool(options))
    with pytest.raises(FileNotFoundError) as caught:
        scan("none")
    assert caught.value.filename == "none"


def test_the_command_is_that_of_this_package(place, monkeypatch):
    """Not one of the current directory or the environment. A name may begin as an option does."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("PYTHONPATH", str(place))
    for name in ("embedded_safetensors", "signal"):
        (place / f"{name}.py").write_text("raise SystemExit(9)")
    np.save("-a.npy", np.ones(3))
    convert("-a.npy", "-b.safetensors", to="F32")
    assert module.load_file("-b.safetensors")["-a"].dtype == np.float32
    start = _tools._START.partition("from")[0] + "import embedded_safetensors as e; print('[\"' + e._core.__file__ + '\"]')"
    monkeypatch.setattr(_tools, "_START", start)
    assert scan("x") == [[_core.__file__]]


@pytest.mark.parametrize("call", [safe_open, lambda url: convert(url, "out.safetensors")], ids=["safe_open", "convert"])
def test_ctrl_c_ends_what_waits_for_a_server(call, place):
    old = signal.signal(signal.SIGALRM, signal.default_int_handler)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        signal.setitimer(signal.ITIMER_REAL, 1)
        with pytest.raises(KeyboardInterrupt):
            call(f"http://127.0.0.1:{silent.getsockname()[1]}/model.safetensors")
        signal.signal(signal.SIGALRM, old)
        silent.accept()
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):  # there was no second request
            silent.accept()
    assert not os.listdir(place)
