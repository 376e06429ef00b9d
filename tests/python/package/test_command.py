"""The command `safetensors` of the package."""

import http.server
import json
import subprocess
import sys
import sysconfig
import threading
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


TWO_THREADS = """
import sys, threading
from embedded_safetensors._core import run_command
codes = []
def run(url):
    codes.extend(run_command(["safetensors", "inspect", "--json", url]) for _ in range(40))
threads = [threading.Thread(target=run, args=[url]) for url in sys.argv[1:]]
[thread.start() for thread in threads], [thread.join() for thread in threads]
sys.exit(any(codes))
"""


def test_commands_in_two_threads_do_not_see_each_other():
    """Their URLs are shown alike, because they differ only in a secret."""

    class Models(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            data = module.save({self.path[-1]: np.zeros(3)})
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Models)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    urls = [f"http://127.0.0.1:{server.server_port}/model?key={key}" for key in "ab"]
    done = subprocess.run([sys.executable, "-c", TWO_THREADS, *urls], capture_output=True, text=True, check=False)
    server.shutdown()
    names = [*(json.loads(line)["tensors"].popitem()[0] for line in done.stdout.splitlines())]
    assert (done.returncode, done.stderr) == (0, "")
    assert (names.count("a"), names.count("b"), len(names)) == (40, 40, 80)
