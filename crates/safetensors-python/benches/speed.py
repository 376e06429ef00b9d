#!/usr/bin/env python3
"""Measures this package and the reference's in turns, and prints a line of JSON for each case.

The files are in the page cache. Each figure is the median of its times; `ratio` is the median of the ratios of
neighbouring runs, the reference's time by ours. `--quick` measures for a tenth of the time.
"""

import gc
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import embedded_safetensors
import embedded_safetensors.numpy
import safetensors
import safetensors.numpy

#: How long the runs of a case may take together, in seconds, and how many there are at least.
PATIENCE = 4.0
LEAST = 7

OURS = (embedded_safetensors, embedded_safetensors.numpy)
REFERENCE = (safetensors, safetensors.numpy)


def main():
    """Measures all cases."""
    patience = PATIENCE / 10 if "--quick" in sys.argv[1:] else PATIENCE
    directory = Path(tempfile.mkdtemp())
    try:
        for name, case in cases(directory):
            ours, reference = case(*OURS), case(*REFERENCE)
            times = measure(ours, reference, patience)
            print(json.dumps({"name": name, **times}), flush=True)
    finally:
        shutil.rmtree(directory)


def measure(ours, reference, patience):
    """Runs both functions in turns, each first in every second turn."""
    ours(), reference()
    pairs = []
    gc.collect()
    gc.disable()
    end = time.perf_counter() + patience
    while len(pairs) < LEAST or (time.perf_counter() < end and len(pairs) < 2000):
        if len(pairs) % 2:
            pairs.append((timed(ours), timed(reference)))
        else:
            theirs = timed(reference)
            pairs.append((timed(ours), theirs))
    gc.enable()
    return {
        "ours": statistics.median(ours for ours, _ in pairs),
        "reference": statistics.median(reference for _, reference in pairs),
        "ratio": statistics.median(reference / ours for ours, reference in pairs),
    }


def timed(run):
    """Returns how long a call takes, without the removal of what it returns. A time that it returns is its own."""
    start = time.perf_counter()
    result = run()
    took = time.perf_counter() - start
    return result if isinstance(result, float) else took


def cases(directory):
    """Returns the name of each case, with a function that makes it for a package."""
    random = np.random.default_rng(0)
    large = {f"layer.{at}.weight": random.random((1024, 4096), dtype=np.float32) for at in range(16)}
    small = {f"layer.{at}.bias": random.random(64, dtype=np.float32) for at in range(10_000)}
    more = {f"{part}.{name}": array for part in range(4) for name, array in large.items()}
    less = {name: more[name][:256] for name in list(more)[:25]}
    models = {"large": large, "small": small, "more": more, "less": less}
    paths = {name: directory / f"{name}.safetensors" for name in models}
    for name, arrays in models.items():
        embedded_safetensors.numpy.save_file(arrays, paths[name])
    in_memory = {name: paths[name].read_bytes() for name in ("large", "small")}
    few, many = "16 arrays of 16 MiB", "10,000 arrays of 256 bytes"
    yield f"`load_file`: {few}", lambda st, numpy: lambda: numpy.load_file(paths["large"])
    yield f"`load_file`: {many}", lambda st, numpy: lambda: numpy.load_file(paths["small"])
    for name, arrays in ("less", "25 arrays of 4 MiB"), ("large", few), ("more", "64 arrays of 16 MiB"):
        yield f"`load_file` in a new process: {arrays}", in_new_process(paths[name])
    yield f"`load`: {few}", lambda st, numpy: lambda: numpy.load(in_memory["large"])
    yield f"`load`: {many}", lambda st, numpy: lambda: numpy.load(in_memory["small"])
    yield f"`save_file`: {few}", lambda st, numpy: lambda: numpy.save_file(large, directory / st.__name__)
    yield f"`save_file`: {many}", lambda st, numpy: lambda: numpy.save_file(small, directory / st.__name__)
    yield f"`save`: {few}", lambda st, numpy: lambda: numpy.save(large)
    yield f"`save`: {many}", lambda st, numpy: lambda: numpy.save(small)
    yield "`deserialize`: 16 tensors of 16 MiB", lambda st, numpy: lambda: st.deserialize(in_memory["large"])
    yield "`safe_open`: 10,000 tensors", lambda st, numpy: lambda: st.safe_open(paths["small"], "np")
    yield "`keys`: 10,000 names", lambda st, numpy: st.safe_open(paths["small"], "np").keys
    yield "`offset_keys`: 10,000 names", lambda st, numpy: st.safe_open(paths["small"], "np").offset_keys
    yield "`get_tensor`: 16 MiB", tensor(paths["large"], "layer.7.weight")
    yield "`get_tensor`: 256 bytes", tensor(paths["small"], "layer.7.bias")
    yield "`get_slice`: one row, 16 KiB", part(paths["large"], np.s_[500])
    yield "`get_slice`: 256 rows, 4 MiB", part(paths["large"], np.s_[256:512])
    yield "`get_slice`: every second row, 8 MiB", part(paths["large"], np.s_[::2])
    yield "`get_slice`: 16 columns of 1,024 rows", part(paths["large"], np.s_[:, 64:80])
    yield "`safe_open` and `get_slice`: 16 columns of 1,024 rows", part_of_opened(paths["large"], np.s_[:, 64:80])
    yield "`get_slice`: 1,024 columns of 1,024 rows", part(paths["large"], np.s_[:, 1024:2048])
    yield "`get_slice`: every second element of a row", part(paths["large"], np.s_[500, ::2])
    yield "`get_slice`: one element", part(paths["large"], np.s_[500, 500])


def in_new_process(path):
    """Returns a case that loads a file for the first time, with memory that the system has to provide."""

    def case(st, numpy):
        call = f"{numpy.__name__}.load_file({str(path)!r})"
        timed = f"import time, {numpy.__name__}; start = time.perf_counter(); loaded = {call}"
        words = [sys.executable, "-c", f"{timed}; print(time.perf_counter() - start)"]
        return lambda: float(subprocess.check_output(words))

    return case


def tensor(path, name):
    """Returns a case that reads a tensor of an open file."""

    def case(st, numpy):
        file = st.safe_open(path, "np")
        return lambda: file.get_tensor(name)

    return case


def part(path, index):
    """Returns a case that reads a part of a tensor of an open file."""

    def case(st, numpy):
        file = st.safe_open(path, "np")
        return lambda: file.get_slice("layer.7.weight")[index]

    return case


def part_of_opened(path, index):
    """Returns a case that opens a file and reads a part of a tensor."""

    def case(st, numpy):
        return lambda: st.safe_open(path, "np").get_slice("layer.7.weight")[index]

    return case


if __name__ == "__main__":
    main()
