#!/usr/bin/env python3
"""Measures what the costs page of the guide says of models on a computer: `formats`, `corrupt`, `sparse`, `latency`,
`shared` and `slow` (as root, with cgroups of version 1), or only the parts that are named.

It prints tables in Markdown. Times are medians of turns in one run, with files in the page cache unless a part says
otherwise. Debian's PyTorch needs numpy 1:

    /usr/bin/python3 -m venv --system-site-packages env
    env/bin/pip install ./crates/safetensors-python safetensors 'ml_dtypes<0.6' 'pyarrow<20' onnx orjson flatbuffers
    env/bin/python benches/figures.py
"""

import json
import multiprocessing
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

try:
    import embedded_safetensors as ours
    import embedded_safetensors.numpy
    import numpy as np
    import safetensors as reference
    import safetensors.numpy
except ModuleNotFoundError as missing:
    sys.exit(f"{__doc__}\n{missing}")

#: Turns of each case.
TURNS = 21


def timed(run, *args):
    """Returns how long a call takes, and what it returns."""
    start = time.perf_counter()
    result = run(*args)
    return time.perf_counter() - start, result


def apart(run, *args):
    """Returns how long a call takes in a process of its own, and the most memory of that process, in bytes."""
    start, child = time.perf_counter(), multiprocessing.get_context("fork").Process(target=run, args=args)
    child.start()
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def median(times):
    """Returns the median in milliseconds."""
    return f"{statistics.median(times) * 1000:,.2f} ms"


def arrays_of(package, path, names):
    """Opens a safetensors file, and returns the arrays of these names."""
    with package.safe_open(path, "numpy") as file:
        return {name: file.get_tensor(name) for name in names}


def formats(directory):
    """One model of 4 MiB in other formats. Each is read back and compared."""
    random = np.random.default_rng(0)
    model = {f"layer.{at}.weight": random.standard_normal((256, 256), np.float32) for at in range(16)}
    path, one = directory / "model", "layer.7.weight"
    yield "format", "bytes", "write", "read all", "read one array"
    for name, write, read in ways():
        times = []
        for _ in range(TURNS if name != "CSV" else 3):
            turn = [timed(write, path, model), timed(read, path, list(model)), timed(read, path, [one])]
            times.append([took for took, _ in turn])
            arrays = *turn[1][1].items(), (one, turn[2][1][one])
            assert len(arrays) == 17 and all(np.array_equal(array, model[key]) for key, array in arrays), name
        yield name, f"{path.stat().st_size:,}", *map(median, zip(*times))


def ways():
    """Returns name, writer and reader of each format, used as its documentation does."""
    import onnx.numpy_helper
    import orjson
    import pyarrow.feather
    import pyarrow.parquet
    import torch

    def each(convert, arrays):
        return {name: convert(array) for name, array in arrays.items()}

    def of_package(package):
        def read(path, names):
            return package.numpy.load_file(path) if len(names) > 1 else arrays_of(package, path, names)

        return lambda path, model: package.numpy.save_file(model, path), read

    def of_table(write, read):
        def write_model(path, model):
            values = pyarrow.array([array.ravel() for array in model.values()], pyarrow.large_list(pyarrow.float32()))
            shapes = pyarrow.array([array.shape for array in model.values()], pyarrow.list_(pyarrow.int64()))
            write(pyarrow.table({"name": list(model), "shape": shapes, "values": values}), path)

        def read_arrays(path, names):
            table = read(path)
            rows = {name: at for at, name in enumerate(table["name"].to_pylist()) if name in names}
            return each(lambda at: table["values"][at].values.to_numpy().reshape(table["shape"][at].as_py()), rows)

        return write_model, read_arrays

    def write_onnx(path, model):
        initial = [onnx.numpy_helper.from_array(array, name) for name, array in model.items()]
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "model", [], [], initial)), path)

    def read_onnx(path, _):
        return {each.name: onnx.numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}

    def write_csv(path, model):
        texts = each(lambda array: f"{len(array)}," + ",".join(map(repr, array.ravel().tolist())), model)
        path.write_text("".join(f"{name},{text}\n" for name, text in texts.items()), "ascii")

    def read_csv(path, _):
        parts = (line.split(",", 2) for line in path.read_text("ascii").splitlines())
        return {n: np.fromstring(v, np.float32, sep=",").reshape(int(rows), -1) for n, rows, v in parts}

    feather, parquet = pyarrow.feather, pyarrow.parquet
    write_arrow = partial(feather.write_feather, compression="uncompressed")
    return [
        ("safetensors, this package", *of_package(ours)),
        (f"safetensors {reference.__version__}", *of_package(reference)),
        ("Arrow IPC, mapped", *of_table(write_arrow, partial(feather.read_table, memory_map=True))),
        ("Parquet", *of_table(parquet.write_table, parquet.read_table)),
        ("ONNX", write_onnx, read_onnx),
        (
            "torch.save",
            lambda path, model: torch.save(each(torch.from_numpy, model), path),
            lambda path, _: each(torch.Tensor.numpy, torch.load(path, weights_only=True)),
        ),
        (
            "JSON (orjson)",
            lambda path, model: path.write_bytes(orjson.dumps(model, option=orjson.OPT_SERIALIZE_NUMPY)),
            lambda path, _: each(partial(np.array, dtype=np.float32), orjson.loads(path.read_bytes())),
        ),
        ("CSV", write_csv, read_csv),
    ]


def corrupt(_):
    """Changes each byte that is no value to each other value, and reads all arrays by their names."""
    model = {f"w{at}": np.arange(at * 4, at * 4 + 4, dtype=np.float32) for at in range(4)}
    flat = "FlatBuffers, lazy", of_flatbuffer(model), from_flatbuffer
    here = "this package", ours.numpy.save(model), lambda file, name: ours.numpy.load(file)[name]
    yield "format", "changes", "an error", "the same arrays", "other arrays, without an error"
    for name, file, read in flat, here:
        begins = [file.index(array.tobytes()) for array in model.values()]
        places = set(range(len(file))).difference(*(range(begin, begin + 16) for begin in begins))
        changes = ((at, bytes([value])) for at in places for value in set(range(256)) - {file[at]})
        found = Counter(outcome(read, file[:at] + value + file[at + 1 :], model) for at, value in changes)
        yield name, *(f"{count:,}" for count in (found.total(), found["error"], found["same"], found["other"]))


def outcome(read, file, model):
    """Returns how reading all arrays by their names ends."""
    try:
        found = {name: read(file, name) for name in model}
    except (ours.SafetensorError, KeyError, IndexError, struct.error, TypeError, ValueError, MemoryError):
        return "error"
    same = all(np.array_equal(found[name], array) and found[name].dtype == array.dtype for name, array in model.items())
    return "same" if same else "other"


def of_flatbuffer(model):
    """Returns a table with a vector of tables, which have a name and a vector of floats."""
    import flatbuffers

    builder = flatbuffers.Builder(0)

    def table(*fields):
        builder.StartObject(len(fields))
        for slot, field in enumerate(fields):
            builder.PrependUOffsetTRelativeSlot(slot, field, 0)
        return builder.EndObject()

    tables = [table(builder.CreateString(name), builder.CreateNumpyVector(array)) for name, array in model.items()]
    builder.StartVector(4, len(tables), 4)
    for each in reversed(tables):
        builder.PrependUOffsetTRelative(each)
    builder.Finish(table(builder.EndVector()))
    return bytes(builder.Output())


def from_flatbuffer(file, wanted):
    """Returns the array of this name, by the accesses of generated code."""
    from flatbuffers import encode, number_types, table

    root = table.Table(file, encode.Get(number_types.UOffsetTFlags.packer_type, file, 0))
    field = root.Offset(4)
    for at in range(root.VectorLen(field) if field else 0):
        each = table.Table(file, root.Indirect(root.Vector(field) + at * 4))
        name, values = each.Offset(4), each.Offset(6)
        if name and values and each.String(name + each.Pos) == wanted.encode():
            return each.GetVectorAsNumpy(number_types.Float32Flags, values)
    raise KeyError(wanted)


def sparse(directory):
    """Opens a file of 1,400 arrays of 100 MB each, and reads one of them."""
    spans = {f"layer.{at}.weight": (at * 10**8, (at + 1) * 10**8) for at in range(1400)}
    header = {name: {"dtype": "F32", "shape": [25_000, 1000], "data_offsets": span} for name, span in spans.items()}
    text = json.dumps(header).encode()
    path = directory / "sparse.safetensors"
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + 140 * 10**9)
    yield "package", "open", "open and read one array", "memory to open", "and to read one array"
    for package in ours, reference:
        cases = [(arrays_of, package, path, names) for names in ([], ["layer.1000.weight"])]
        times = [median([timed(*case)[0] for _ in range(TURNS)]) for case in cases]
        used = [apart(*case)[1] - apart(int)[1] for case in cases]
        yield package.__name__, *times, *(f"{size / 2**20:.1f} MiB" for size in used)


def latency(_):
    """Reads the network of the digits by name, and computes it once."""
    path = Path(__file__).parents[1] / "firmware/app/models/digits-f16.safetensors"
    names = [f"fc{at}.{part}" for at in range(1, 5) for part in ("weight", "bias")]

    def predict(package):
        arrays = [array.astype(np.float32) for array in arrays_of(package, path, names).values()]
        values = np.ones(64, np.float32)
        for weight, bias in zip(arrays[::2], arrays[1::2]):
            values = np.maximum(weight @ values + bias, 0)

    yield "package", "p50", "p99"
    turns = [[timed(predict, package)[0] for package in (ours, reference)] for _ in range(3000)]
    for package, times in zip((ours, reference), zip(*turns)):
        p50, p99 = statistics.quantiles(times, n=100)[49::49]
        yield package.__name__, f"{p50 * 1e6:,.0f} µs", f"{p99 * 1e6:,.0f} µs"


#: Maps $2 by the package $1, adds up all arrays, says so, and waits.
READER = """
import importlib, sys
package = importlib.import_module(sys.argv[1])
keywords = {"backend": "mmap"} if sys.argv[1] == "embedded_safetensors" else {}
with package.safe_open(sys.argv[2], "numpy", **keywords) as file:
    arrays = [file.get_tensor(name) for name in file.keys()]
    print(sum(float(array.sum()) for array in arrays), flush=True)
    sys.stdin.read()
"""


def shared(directory):
    """Lets 8 processes and 8 threads read and add up all of a model of 1 GiB."""
    path = directory / "shared.safetensors"
    part = np.ones((1024, 4096), np.float32)
    ours.numpy.save_file({f"layer.{at}.weight": part for at in range(64)}, path)

    def threads(package):
        with package.safe_open(path, "numpy") as file, ThreadPoolExecutor(8) as pool:
            return sum(pool.map(lambda name: float(file.get_tensor(name).sum()), file.keys()))

    def processes(package):
        words = [sys.executable, "-c", READER, package.__name__, path]
        readers = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(8)]
        assert all(float(reader.stdout.readline()) == 64 * part.size for reader in readers)
        return readers

    yield "package", "8 processes: time", "memory of all, shared pages once", "8 threads: time"
    for package in ours, reference:
        took, readers = timed(processes, package)
        # Pages that several processes map count in part.
        rollups = [Path(f"/proc/{reader.pid}/smaps_rollup").read_text("ascii") for reader in readers]
        used = sum(int(re.search(r"\nPss: +(\d+)", rollup)[1]) for rollup in rollups)
        for reader in readers:
            reader.communicate()
        by_threads, found = timed(threads, package)
        assert found == 64 * part.size
        yield package.__name__, f"{took:.2f} s", f"{used / 1024:,.0f} MiB", f"{by_threads:.2f} s"


def slow(directory):
    """Reads arrays of a model of 256 MiB on a disk with 20 MB/s that has not read them yet."""
    image, disk, group = directory / "image", directory / "disk", Path("/sys/fs/cgroup/blkio/figures")
    disk.mkdir()
    for command in f"truncate --size=400M {image}", f"mkfs.ext4 -q {image}", f"mount -o loop {image} {disk}":
        subprocess.run(command.split(), check=True)

    def read(backend, part):
        (group / "cgroup.procs").write_text("0", "ascii")
        with ours.safe_open(disk / "model", "numpy", backend=backend) as file:
            for at in range(0, 60, 10):
                file.get_slice(f"layer.{at}.weight")[part].sum()

    def throttled(*args):
        Path("/proc/sys/vm/drop_caches").write_text("1", "ascii")
        return apart(read, *args)[0]

    try:
        group.mkdir(exist_ok=True)
        device = os.stat(disk).st_dev
        limit = f"{os.major(device)}:{os.minor(device)} {20 * 10**6}"
        (group / "blkio.throttle.read_bps_device").write_text(limit, "ascii")
        rows = np.ones((1024, 1024), np.float32)
        ours.numpy.save_file({f"layer.{at}.weight": rows for at in range(64)}, disk / "model")
        yield "what is read", "mapped", "read"
        for what, part in ("6 arrays of 4 MiB", np.s_[:]), ("16 columns of 6 arrays, 384 KiB", np.s_[:, 64:80]):
            yield what, *(median([throttled(backend, part) for _ in range(3)]) for backend in ("mmap", "pread"))
    finally:
        subprocess.run(["umount", disk], check=True)
        group.rmdir()


PARTS = {part.__name__: part for part in (formats, corrupt, sparse, latency, shared, slow)}


def main(names):
    """Measures these parts, or all. The first row of a part is the head of its table."""
    for name in names or PARTS:
        with tempfile.TemporaryDirectory() as directory:
            print(f"\n{PARTS[name].__doc__}\n")
            for at, row in enumerate(PARTS[name](Path(directory))):
                print("|", " | ".join(row), "|", flush=True)
                if at == 0:
                    print("|", " | ".join(["---"] * len(row)), "|")


if __name__ == "__main__":
    if not PARTS.keys() >= set(sys.argv[1:]):
        sys.exit(f"the parts are {', '.join(PARTS)}")
    try:
        main(sys.argv[1:])
    except ModuleNotFoundError as missing:
        sys.exit(f"{__doc__}\n{missing}")
