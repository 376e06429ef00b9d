"""Measures what the command promises of its speed: all cores for many files, long headers shown faster than Python
parses them, axes turned as fast as by numpy.

python3 speed.py -- PROGRAM

PROGRAM is a release build of the command `safetensors`. The best of many runs counts. Where other programs keep the
machine busy, nothing can be said, and it says so. Ends non-zero where a promise is not kept.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

FILES, RUNS = 1000, 30
# Of CPU time to wall time, for each core.
SHARE = 0.85
# Of the time in which Python's json parses the header, and of numpy's to turn an array. The two programs take turns,
# and the best time of each counts: a ratio is the same on every machine.
SHOWN, TURNED, TURNS = 0.4, 1.25, 5


def write(path, tensors, length):
    """A model of so many tensors of F16, the data of which are a hole."""
    header, at = {}, 0
    for number in range(tensors):
        name, end = f"model.layers.{number // 10}.mlp.block_{number % 10}.weight", at + length
        header[name] = {"dtype": "F16", "shape": [length // 2], "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + at)


def run(program, *arguments):
    """Wall time and CPU time of one run."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([program, *map(str, arguments)], stdout=subprocess.DEVNULL, check=True)
    after, wall = os.times(), time.perf_counter() - start
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def cores(program, place, tensors):
    """How many cores a check of a thousand files keeps busy."""
    folder = place / f"of {tensors}"
    folder.mkdir()
    write(folder / "0000.safetensors", tensors, 64)
    for number in range(1, FILES):
        os.link(folder / "0000.safetensors", folder / f"{number:04}.safetensors")
    wall, busy = max((run(program, "check", folder) for _ in range(RUNS)), key=lambda pair: pair[1] / pair[0])
    print(f"check of {FILES} files of {tensors} tensors: {wall * 1000:.0f} ms, {busy / wall:.2f} cores busy")
    return busy / wall


def shown(program, path, *options):
    """How long it takes to inspect a file, as a part of what Python takes to parse its header alone."""
    with open(path, "rb") as file:
        header = file.read(int.from_bytes(file.read(8), "little"))
    times = []
    for _ in range(RUNS):
        wall, _ = run(program, "inspect", *options, path)
        start = time.perf_counter()
        json.loads(header)
        times.append((wall, time.perf_counter() - start))
    best, of_json = (min(column) for column in zip(*times, strict=True))
    words = " ".join(("inspect", *options, path.name))
    print(f"{words}: {best * 1000:.0f} ms, {best / of_json:.2f} of what json takes for the header")
    return best / of_json


def turned(program, place, shape):
    """How long an array in Fortran order takes, as a part of what numpy takes to load, turn and save it."""
    source, ours, theirs = place / "fortran.npy", place / "ours.safetensors", place / "theirs.npy"
    numpy.save(source, numpy.ones(shape[::-1], "u1").T)
    times = []
    for _ in range(TURNS):
        wall, _ = run(program, "convert", source, ours)
        start = time.perf_counter()
        numpy.save(theirs, numpy.ascontiguousarray(numpy.load(source)))
        times.append((wall, time.perf_counter() - start))
        ours.unlink()
        theirs.unlink()
    best, of_numpy = (min(column) for column in zip(*times, strict=True))
    print(f"convert of {shape} in Fortran order: {best * 1000:.0f} ms, {best / of_numpy:.2f} of numpy's")
    return best / of_numpy


def main():
    """Measures, and judges where that makes sense."""
    (program,) = [word for word in sys.argv[1:] if word != "--"]
    many = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    busy = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        cores(program, place, 103)
        kept = cores(program, place, 2000) >= SHARE * min(many, 2)
        write(place / "100000 tensors", 100_000, 64)
        kept &= shown(program, place / "100000 tensors") < SHOWN
        kept &= shown(program, place / "100000 tensors", "--json") < SHOWN
        # On a disk the sync would be most of it.
        memory = pathlib.Path("/dev/shm")
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as fast:
            for shape in ((3, 1 << 26), (3, 500, 40_000), (8000, 8000)):
                kept &= turned(program, pathlib.Path(fast), shape) < TURNED
    if not kept and busy > many / 2:
        print(f"speed.py: the machine is busy with {busy} other programs: nothing can be said")
        return 0
    print("speed.py: " + ("all is as fast as promised" if kept else "something is slower than promised"))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
