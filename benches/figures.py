#!/usr/bin/env python3
"""Measures what the costs page of the guide says of models on a computer, each part by its name, or all:

formats   one model of 4 MiB in other formats: length, time to write, to read all, and to read one array
corrupt   a file with one changed byte, read from a FlatBuffer and from a safetensors file
sparse    one array of 100 MB in a file of 140 GB
latency   a file is opened, its arrays are found, and a network is computed
shared    a model of 1 GiB read by 8 processes and by 8 threads
slow      a tenth of a model on a disk with 20 MB/s: mapped, and read; as root, with cgroups of version 1

It prints tables in Markdown. Times are medians of turns in one run, with files in the page cache unless a part says otherwise.
Debian's PyTorch needs numpy 1:

    /usr/bin/python3 -m venv --system-site-packages env
    env/bin/pip install ./crates/safetensors-python safetensors 'ml_dtypes<0.6' 'pyarrow<20' onnx orjson flatbuffers
    env/bin/python benches/figures.py
"""

import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import embedded_safetensors as ours
import embedded_safetensors.numpy
import numpy as np
import safetensors as reference
import safetensors.numpy

#: Turns of each case.
TURNS = 21


def median(times):
    """Returns the median in milliseconds."""
    return f"{statistics.median(times) * 1000:,.2f} ms"


def timed(run, *args):
    """Returns how long a call takes, and what it returns."""
    start = time.perf_counter()
    result = run(*args)
    return time.perf_counter() - start, result


def row(*cells):
    """Prints a row of a table."""
    print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)


def formats(directory):
    """One model in many formats. Each is read back and compared."""
    random = np.random.default_rng(0)
    model = {f"layer.{at}.weight": random.standard_normal((256, 256), np.float32) for at in range(16)}
    one = "layer.7.weight"
    row("format", "bytes", "write", "read all", "read one array")
    row(*["---"] * 5)
    for name, write, read, read_one in ways():
        path = directory / "model"
        times = [[], [], []]
        for _ in range(TURNS if name != "CSV" else 3):
            times[0].append(timed(write, path, model)[0])
            took, found = timed(read, path)
            times[1].append(took)
            assert all(np.array_equal(found[key], array) for key, array in model.items()), name
            took, found = timed(read_one, path, one)
            times[2].append(took)
            assert np.array_equal(found, model[one]), name
        row(name, f"{path.stat().st_size:,}", *map(median, times))


def ways():
    """Returns name, writer, reader and reader of one array of each format, used as its documentation does."""
    import onnx
    import onnx.numpy_helper
    import orjson
    import pyarrow
    import pyarrow.parquet
    import torch

    def of_safetensors(package):
        def read_one(path, name):
            with package.safe_open(path, "numpy") as file:
                return file.get_tensor(name)

        return lambda path, model: package.numpy.save_file(model, path), package.numpy.load_file, read_one

    def table(model):
        values = pyarrow.array([array.ravel() for array in model.values()], pyarrow.large_list(pyarrow.float32()))
        shapes = pyarrow.array([array.shape for array in model.values()], pyarrow.list_(pyarrow.int64()))
        return pyarrow.table({"name": list(model), "shape": shapes, "values": values})

    def array(table, at):
        return table["values"][at].values.to_numpy().reshape(table["shape"][at].as_py())

    def arrays(table):
        return {name: array(table, at) for at, name in enumerate(table["name"].to_pylist())}

    def write_arrow(path, model):
        rows = table(model)
        with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)

    def of_arrow(path):
        with pyarrow.memory_map(str(path)) as file:
            return pyarrow.ipc.open_file(file).read_all()

    def one_of(open_table):
        return lambda path, name: array(rows := open_table(path), rows["name"].to_pylist().index(name))

    def write_onnx(path, model):
        initial = [onnx.numpy_helper.from_array(array, name) for name, array in model.items()]
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "model", [], [], initial)), path)

    def of_onnx(path):
        return {each.name: onnx.numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}

    def write_csv(path, model):
        with open(path, "w", encoding="ascii") as file:
            for name, array in model.items():
                values = ",".join(map(repr, array.ravel().tolist()))
                file.write(f"{name},{len(array)},{values}\n")

    def of_csv(path):
        with open(path, encoding="ascii") as file:
            parts = (line.split(",", 2) for line in file)
            return {n: np.fromstring(v, np.float32, sep=",").reshape(int(rows), -1) for n, rows, v in parts}

    def write_orjson(path, model):
        path.write_bytes(orjson.dumps(model, option=orjson.OPT_SERIALIZE_NUMPY))

    def of_orjson(path):
        return {n: np.array(values, np.float32) for n, values in orjson.loads(path.read_bytes()).items()}

    def write_torch(path, model):
        torch.save({name: torch.from_numpy(array) for name, array in model.items()}, path)

    def of_torch(path):
        return {name: tensor.numpy() for name, tensor in torch.load(path, weights_only=True).items()}

    def entire(read):
        return lambda path, name: read(path)[name]

    yield "safetensors, this package", *of_safetensors(ours)
    yield f"safetensors {reference.__version__}", *of_safetensors(reference)
    yield "Arrow IPC, mapped", write_arrow, lambda path: arrays(of_arrow(path)), one_of(of_arrow)
    parquet = pyarrow.parquet
    write_parquet = lambda path, model: parquet.write_table(table(model), path)  # noqa: E731
    yield "Parquet", write_parquet, lambda path: arrays(parquet.read_table(path)), one_of(parquet.read_table)
    yield "ONNX", write_onnx, of_onnx, entire(of_onnx)
    yield "torch.save", write_torch, of_torch, entire(of_torch)
    yield "JSON (orjson)", write_orjson, of_orjson, entire(of_orjson)
    yield "CSV", write_csv, of_csv, entire(of_csv)


def corrupt(_):
    """Changes each byte that is no value to each other value, and reads all arrays by their names."""
    model = {f"w{at}": np.arange(at * 4, at * 4 + 4, dtype=np.float32) for at in range(4)}
    buffer = of_flatbuffer(model)
    cases = {"FlatBuffers, lazy": (buffer, from_flatbuffer), "this package": (ours.numpy.save(model), from_safetensors)}
    row("format", "changes", "an error", "the same arrays", "other arrays, without an error")
    row(*["---"] * 5)
    for name, (file, read) in cases.items():
        values = {at for array in model.values() for at in span(file, array.tobytes())}
        outcomes = Counter()
        for at in set(range(len(file))) - values:
            for value in set(range(256)) - {file[at]}:
                changed = bytearray(file)
                changed[at] = value
                outcomes[outcome(read, bytes(changed), model)] += 1
        row(name, f"{outcomes.total():,}", *(f"{outcomes[end]:,}" for end in ("error", "same", "other")))


def span(file, values):
    """Returns the positions of these bytes in a file."""
    begin = file.index(values)
    return range(begin, begin + len(values))


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
    tables = []
    for name, array in model.items():
        text, values = builder.CreateString(name), builder.CreateNumpyVector(array)
        builder.StartObject(2)
        builder.PrependUOffsetTRelativeSlot(0, text, 0)
        builder.PrependUOffsetTRelativeSlot(1, values, 0)
        tables.append(builder.EndObject())
    builder.StartVector(4, len(tables), 4)
    for each in reversed(tables):
        builder.PrependUOffsetTRelative(each)
    tensors = builder.EndVector()
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(0, tensors, 0)
    builder.Finish(builder.EndObject())
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


def from_safetensors(file, wanted):
    """Returns the array of this name."""
    return ours.numpy.load(file)[wanted]


def sparse(directory):
    """Opens a file of 1,400 arrays of 100 MB each, and reads one of them."""
    spans = {f"layer.{at}.weight": (at * 10**8, (at + 1) * 10**8) for at in range(1400)}
    header = {name: {"dtype": "F32", "shape": [25_000, 1000], "data_offsets": span} for name, span in spans.items()}
    text = json.dumps(header).encode()
    path = directory / "sparse.safetensors"
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + 140 * 10**9)

    def open_only(package):
        with package.safe_open(path, "numpy") as file:
            return file

    def read_one(package):
        with package.safe_open(path, "numpy") as file:
            return file.get_tensor("layer.1000.weight")

    row("package", "open", "open and read one array", "memory to open", "and to read one array")
    row(*["---"] * 5)
    for package in ours, reference:
        times = [median([timed(run, package)[0] for _ in range(TURNS)]) for run in (open_only, read_one)]
        used = [apart(lambda run=run: memory(run, package)) / 2**20 for run in (open_only, read_one)]
        row(package.__name__, *times, *(f"{size:.1f} MiB" for size in used))


def memory(run, *args):
    """Returns how much memory a call needs at most above what this process has."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    before = peak()
    run(*args)
    return peak() - before


def apart(run):
    """Returns the number that a function returns in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, struct.pack("d", run()))
        os._exit(0)
    os.waitpid(child, 0)
    return struct.unpack("d", os.read(reader, 8))[0]


def peak():
    """Returns the largest resident memory of this process so far, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def latency(_):
    """Reads the network of the digits by name, and computes it once."""
    path = Path(__file__).parents[1] / "firmware/app/models/digits-f16.safetensors"

    def predict(package):
        with package.safe_open(path, "numpy") as file:
            layers = [(file.get_tensor(f"fc{at}.weight"), file.get_tensor(f"fc{at}.bias")) for at in range(1, 5)]
        values = np.ones(64, np.float32)
        for weight, bias in layers:
            values = np.maximum(weight.astype(np.float32) @ values + bias.astype(np.float32), 0)
        return values

    row("package", "p50", "p99")
    row(*["---"] * 3)
    times = {package: [] for package in (ours, reference)}
    for _ in range(3000):
        for package, found in times.items():
            found.append(timed(predict, package)[0])
    for package, found in times.items():
        p50, p99 = statistics.quantiles(found, n=100)[49::49]
        row(package.__name__, f"{p50 * 1e6:,.0f} µs", f"{p99 * 1e6:,.0f} µs")


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
    row("package", "8 processes: time", "memory of all, shared pages once", "8 threads: time")
    row(*["---"] * 4)
    for package in ours, reference:
        words = [sys.executable, "-c", READER, package.__name__, path]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        start = time.perf_counter()
        readers = [subprocess.Popen(words, **pipes) for _ in range(8)]
        assert all(float(reader.stdout.readline()) == 64 * part.size for reader in readers)
        took = time.perf_counter() - start
        used = sum(pss(reader.pid) for reader in readers)
        for reader in readers:
            reader.communicate()
        row(package.__name__, f"{took:.2f} s", f"{used / 2**20:,.0f} MiB", f"{threads(package, path):.2f} s")


def threads(package, path):
    """Returns how long 8 threads take to add up all arrays of one open file."""

    def add_up(file, names):
        return sum(float(file.get_tensor(name).sum()) for name in names)

    start = time.perf_counter()
    with package.safe_open(path, "numpy") as file, ThreadPoolExecutor(8) as pool:
        names = list(file.keys())
        list(pool.map(lambda at: add_up(file, names[at::8]), range(8)))
    return time.perf_counter() - start


def pss(process):
    """Returns the memory of a process in bytes; pages that several map count in part."""
    with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))


def slow(directory):
    """Reads arrays of a model of 256 MiB on a throttled disk that has not read them yet."""
    image, disk, group = directory / "image", directory / "disk", Path("/sys/fs/cgroup/blkio/figures")
    subprocess.run(["truncate", "--size=400M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    disk.mkdir()
    subprocess.run(["mount", "-o", "loop", image, disk], check=True)
    group.mkdir(exist_ok=True)
    try:
        device = os.stat(disk).st_dev
        limit = f"{os.major(device)}:{os.minor(device)} {20 * 10**6}"
        (group / "blkio.throttle.read_bps_device").write_text(limit, "ascii")
        rows = np.ones((1024, 1024), np.float32)
        ours.numpy.save_file({f"layer.{at}.weight": rows for at in range(64)}, disk / "model")
        row("what is read", "mapped", "read")
        row(*["---"] * 3)
        for what, part in ("6 arrays of 4 MiB", np.s_[:]), ("16 columns of 6 arrays, 384 KiB", np.s_[:, 64:80]):
            row(what, *(median([throttled(group, disk, backend, part) for _ in range(3)]) for backend in ("mmap", "pread")))
    finally:
        subprocess.run(["umount", disk], check=True)
        group.rmdir()


def throttled(group, disk, backend, part):
    """Returns how long a process of the group takes, whose file is not in the page cache."""
    Path("/proc/sys/vm/drop_caches").write_text("1", "ascii")

    def read():
        (group / "cgroup.procs").write_text("0", "ascii")
        with ours.safe_open(disk / "model", "numpy", backend=backend) as file:
            for at in range(0, 60, 10):
                file.get_slice(f"layer.{at}.weight")[part].sum()

    return apart(lambda: timed(read)[0])


PARTS = {part.__name__: part for part in (formats, corrupt, sparse, latency, shared, slow)}


def main(names):
    """Measures these parts, or all."""
    for name in names or PARTS:
        with tempfile.TemporaryDirectory() as directory:
            print(f"\n{PARTS[name].__doc__}\n")
            PARTS[name](Path(directory))


if __name__ == "__main__":
    main(sys.argv[1:])
