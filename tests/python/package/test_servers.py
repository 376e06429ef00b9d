"""Models on servers."""

import http.server
import threading

import numpy as np
import pytest

import embedded_safetensors.numpy as module
from embedded_safetensors import SafetensorError, safe_open

pytestmark = pytest.mark.main

ARRAYS = {"a": np.arange(12.0).reshape(3, 4), "b": np.arange(6, dtype=np.int16), "c": np.zeros((0, 3)), "d": np.arange(300)}
ROW = 100_000


@pytest.fixture
def server(place):
    """Serves the files of the current directory. Returns its URL, and the path, range and token of each request."""
    asked = []

    class Ranges(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            begin, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
            asked.append((self.path, (begin, last + 1), self.headers["Authorization"]))
            path = place / self.path.rpartition("/")[2]
            if not path.exists():
                return self.send_error(404)
            data = path.read_bytes()
            part = data[begin : last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{begin + len(part) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()


def test_all_is_as_of_a_file(server):
    module.save_file(ARRAYS, "model.safetensors", {"made by": "a test"})
    with safe_open(f"{server[0]}/model.safetensors") as file, safe_open("model.safetensors") as local:
        for index in (np.s_[1:], np.s_[0, 1], np.s_[..., ::-2], np.s_[None, -1, 5:]):
            assert np.array_equal(file.get_slice("a")[index], ARRAYS["a"][index])
        assert file.metadata() == {"made by": "a test"}
        assert (file.keys(), file.offset_keys()) == (local.keys(), local.offset_keys())
        for name, array in file.get_tensors().items():
            assert file.get_bytes(name) == array.tobytes() == ARRAYS[name].tobytes()
            assert file.get_tensor_meta(name) == local.get_tensor_meta(name)


def test_slices_read_their_bytes(server):
    array = np.arange(64 * ROW, dtype=np.uint32).astype(np.uint8).reshape(64, ROW)
    module.save_file({"a": array}, "model.safetensors")
    with safe_open(f"{server[0]}/model.safetensors") as file:
        server[1].clear()
        for index in (np.s_[60, 10:20], np.s_[20:41:20]):
            assert np.array_equal(file.get_slice("a")[index], array[index])
    start = len(module.save({"a": array})) - array.size
    runs = [(60 * ROW + 10, 10), (20 * ROW, ROW), (40 * ROW, ROW)]
    assert [span for _, span, _ in server[1]] == [(start + begin, start + begin + len) for begin, len in runs]


def test_shards_of_the_hub(server, monkeypatch):
    module.save_sharded(ARRAYS, ".", max_shard_size="1KB")
    for name, value in {"HF_ENDPOINT": server[0], "HF_TOKEN": "secret", "HF_HOME": "none"}.items():
        monkeypatch.setenv(name, value)
    assert module.save(module.load_file("hf://owner/name")) == module.save(ARRAYS)
    assert {path.partition("model")[0] for path, *_ in server[1]} == {"/owner/name/resolve/main/"}
    assert {token for *_, token in server[1]} == {"Bearer secret"}


def test_errors(server, place):
    data = module.save(ARRAYS)
    (place / "bad").write_bytes(data.replace(b'"F64"', b'"F65"', 1))
    with pytest.raises(SafetensorError) as caught:
        safe_open(f"{server[0]}/bad")
    assert (caught.value.code, caught.value.byte) == ("dtype.unknown", data.index(b'"F64"'))
    with pytest.raises(FileNotFoundError, match="404"):
        safe_open(f"{server[0]}/none")
    with pytest.raises(SafetensorError, match="mapped"):
        safe_open(f"{server[0]}/bad", backend="mmap")
