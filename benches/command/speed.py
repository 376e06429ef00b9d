"""Measures the command `safetensors` beside `cp` and the programs that do the same, in turns, on files of 512 MB.

python3 speed.py PROGRAM WRITER PYTHON [--quick]

WRITER is the program `written` of the verification package, PYTHON one that has torch and safetensors. Prints a line of
JSON for each case: `ours` and `other` in seconds, and their `ratio`; or one `value` in its `unit`. The files are in memory where the system has /dev/shm, so that no
disk counts; all programs sync what they write. A case on one core compares the time of the processor, the others the time
that passes. Each time is the least of several. Needs `strip`.
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import numpy

MEGABYTES = 512
TENSORS = 8
RUNS = 3

#: Reads the data of a model, casts it as numpy and ml_dtypes do, writes and syncs it. The header is of the same length.
CAST = """
import os, sys, numpy, ml_dtypes
source, target, old, new, header = sys.argv[1:]
dtype = lambda name: numpy.dtype(getattr(ml_dtypes, name, None) or name)
with open(source, "rb") as file, open(target, "wb") as out:
    out.write(file.read(int(header)))
    for _ in range({tensors}):
        array = numpy.fromfile(file, dtype(old), {bytes} // {tensors} // dtype(old).itemsize)
        array.astype(dtype(new)).tofile(out)
    out.flush()
    os.fsync(out.fileno())
"""

#: Scales each row of a model of F32 to I8, as `convert --to I8 --scale per-row` does, writes and syncs it.
QUANTIZE = """
import json, os, struct, sys, numpy
source, target = sys.argv[1:]
with open(source, "rb") as file, open(target, "wb") as out:
    length = file.read(8)
    header = file.read(struct.unpack("<Q", length)[0])
    out.write(length + header)
    for entry in json.loads(header).values():
        rows = numpy.fromfile(file, numpy.float32, numpy.prod(entry["shape"])).reshape(entry["shape"])
        scale = numpy.abs(rows).max(1, keepdims=True) / numpy.float32(127)
        numpy.rint(rows / scale).astype(numpy.int8).tofile(out)
        scale.tofile(out)
    out.flush()
    os.fsync(out.fileno())
"""

#: The reverse, as `convert --to F32 --unscale` does.
RESTORE = """
import json, os, struct, sys, numpy
source, target = sys.argv[1:]
with open(source, "rb") as file, open(target, "wb") as out:
    length = file.read(8)
    header = file.read(struct.unpack("<Q", length)[0])
    out.write(length + header)
    entries = json.loads(header)
    def read(entry, dtype):
        file.seek(8 + len(header) + entry["data_offsets"][0])
        return numpy.fromfile(file, dtype, numpy.prod(entry["shape"], dtype=int)).reshape(entry["shape"])
    for name, entry in entries.items():
        if entry["dtype"] == "I8":
            scale = read(entries[name + ".scale"], numpy.float32).reshape(-1, 1)
            (read(entry, numpy.int8).astype(numpy.float32) * scale).tofile(out)
    out.flush()
    os.fsync(out.fileno())
"""

#: Splits a model as `save_torch_state_dict` of huggingface_hub does, with its own plan, but with arrays of numpy.
SPLIT = """
import json, os, sys, huggingface_hub, safetensors.numpy
source, target, limit = sys.argv[1:]
arrays = safetensors.numpy.load_file(source)
plan = huggingface_hub.split_state_dict_into_shards_factory(
    arrays, get_storage_size=lambda array: array.nbytes, max_shard_size=int(limit),
    filename_pattern="model{suffix}.safetensors")
os.mkdir(target)
for name, tensors in plan.filename_to_tensors.items():
    safetensors.numpy.save_file({tensor: arrays[tensor] for tensor in tensors}, os.path.join(target, name))
with open(os.path.join(target, "model.safetensors.index.json"), "w") as file:
    json.dump({"metadata": plan.metadata, "weight_map": plan.tensor_to_filename}, file)
for name in os.listdir(target):
    with open(os.path.join(target, name), "rb") as file:
        os.fsync(file.fileno())
"""

#: The reference reads and writes whole models.
REFERENCE = """
import sys, safetensors.numpy
safetensors.numpy.save_file(safetensors.numpy.load_file(sys.argv[1]), sys.argv[2])
"""

#: Writes tensors as PyTorch does, in its present form and in the one before 1.6.
TORCH_FILES = """
import sys, safetensors.torch, torch
tensors = safetensors.torch.load_file(sys.argv[1])
torch.save(tensors, sys.argv[2])
torch.save(tensors, sys.argv[3], _use_new_zipfile_serialization=False)
"""

#: Prints the seconds of the processor that it takes, without those of the imports.
TORCH = """
import os, sys, safetensors.torch, time, torch
torch.set_num_threads(1)
start = time.process_time()
safetensors.torch.save_file(torch.load(sys.argv[1], map_location="cpu"), sys.argv[2])
with open(sys.argv[2], "rb+") as file:
    os.fsync(file.fileno())
print(time.process_time() - start)
"""


def write_model(path, dtype, data):
    """Tensors of rows of 4,096 elements; returns the offset of the data."""
    part, width = len(data) // TENSORS, {"F32": 4, "F16": 2, "BF16": 2}[dtype]
    entry = lambda at: {"dtype": dtype, "shape": [part // width // 4096, 4096], "data_offsets": [at, at + part]}
    text = json.dumps({f"t{index}": entry(index * part) for index in range(TENSORS)}).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.write(data)
    return 8 + len(text)


def run(command, core):
    """Returns the seconds that it takes."""
    pin = (lambda: os.sched_setaffinity(0, {core})) if core is not None else None
    start = time.perf_counter()
    # A script that measures itself prints a number; what other programs print is short, or is not read.
    stdout = subprocess.PIPE if TORCH in command else subprocess.DEVNULL
    process = subprocess.Popen(list(map(str, command)), stdout=stdout, preexec_fn=pin)
    printed = process.stdout.read() if process.stdout else None
    _, status, used = os.wait4(process.pid, 0)
    passed = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command}: ended with {process.returncode}")
    if printed is not None:
        return float(printed)
    return used.ru_utime + used.ru_stime if core is not None else passed


def peak(command):
    """Returns the peak memory in KiB, seen while it runs: at its exit, that of this process would count."""
    process, most = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL), 0
    status = pathlib.Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                most = max(most, int(line.split()[1]))
        time.sleep(0.002)
    return most


def show(name, value, unit):
    print(json.dumps({"name": name, "value": value, "unit": unit}), flush=True)


def compare(name, ours, other, outputs, core=None, runs=RUNS):
    """Runs both in turns; each may be several commands, whose times are added."""
    least = [float("inf")] * 2
    for _ in range(runs):
        for index, commands in enumerate([ours, other]):
            seconds = 0
            for path in outputs:
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            for command in commands:
                seconds += run(command, core)
            least[index] = min(least[index], seconds)
    print(json.dumps({"name": name, "ours": least[0], "other": least[1], "ratio": least[0] / least[1]}), flush=True)


def main():
    programs, runs = [os.path.abspath(path) for path in sys.argv[1:4]], 2 if "--quick" in sys.argv else RUNS
    shared = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as directory:
        measure(pathlib.Path(directory), *programs, runs)


def measure(directory, program, writer, python, runs):
    size = MEGABYTES << 20
    normal = numpy.random.default_rng(1).standard_normal(size // 64, numpy.float32) * numpy.float32(0.05)
    singles, halves, bits = (directory / f"{name}.safetensors" for name in ["f32", "f16", "bf16"])
    header = write_model(singles, "F32", numpy.tile(normal, 16).data.cast("B"))
    for path, dtype in [(halves, "F16"), (bits, "BF16")]:
        run([program, "convert", singles, path, "--to", dtype], None)
    out, copy, many, few, shards = (directory / name for name in ["o.safetensors", "copy", "many", "few", "shards"])
    cores = sorted(os.sched_getaffinity(0))
    core = cores[0]

    def case(name, ours, other, core=None):
        compare(name, ours, other, [out, copy, few, shards], core, runs)

    def on(cores, command):
        return ["taskset", "-c", ",".join(map(str, cores)), *command]

    def convert(source, *options):
        return [[program, "convert", source, out, *options]]

    def numpy_cast(source, old, new, length):
        script = CAST.format(tensors=TENSORS, bytes=length)
        return [[sys.executable, "-B", "-c", script, source, copy, old, new, header]]

    show("`safetensors --version`, time", 1000 * min(run([program, "--version"], None) for _ in range(20)), "ms")
    stripped = directory / "stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    show("the program without `chips`, stripped", stripped.stat().st_size, "B")
    copied = [["cp", singles, copy], ["sync", copy]]
    for source, old, new in [
        (singles, "F32", "BF16"), (singles, "F32", "F16"), (halves, "F16", "F32"), (bits, "BF16", "F32"),
        (singles, "F32", "F8_E4M3"), (singles, "F32", "F8_E5M2"),
    ]:
        case(f"`convert --to {new}` of {old}, beside `cp`", convert(source, "--to", new), copied, core)
    scaled = directory / "scaled.safetensors"
    scale = ["--to", "I8", "--scale", "per-row"]
    case("`convert --to I8 --scale per-row` of F32, beside `cp`", convert(singles, *scale), copied, core)
    run([program, "convert", singles, scaled, *scale], None)
    case("`convert --to F32 --unscale` of I8, beside `cp`", convert(scaled, "--to", "F32", "--unscale"), copied, core)
    for source, old, new, types in [
        (singles, "F32", "F16", ("float32", "float16")), (halves, "F16", "F32", ("float16", "float32")),
        (singles, "F32", "BF16", ("float32", "bfloat16")), (bits, "BF16", "F32", ("bfloat16", "float32")),
        (singles, "F32", "F8_E4M3", ("float32", "float8_e4m3fn")), (singles, "F32", "F8_E5M2", ("float32", "float8_e5m2")),
    ]:
        length = size if source == singles else size // 2
        case(f"`convert --to {new}` of {old}, beside numpy", convert(source, "--to", new), numpy_cast(source, *types, length), core)
    interpreter = [sys.executable, "-B", "-c"]
    quantized, restored = ([[*interpreter, script, source, copy]] for script, source in [(QUANTIZE, singles), (RESTORE, scaled)])
    case("`convert --to I8 --scale per-row` of F32, beside numpy", convert(singles, *scale), quantized, core)
    case("`convert --to F32 --unscale` of I8, beside numpy", convert(scaled, "--to", "F32", "--unscale"), restored, core)
    measure_torch(directory, program, python, singles, case, core)
    written = [[writer, out, MEGABYTES]]
    case("`write_file`, beside a write and a sync", written, [[writer, copy, MEGABYTES, "plain"]], core)
    memory = max(peak(convert(source, "--to", new, "--force")[0]) for source, new in [(singles, "F16"), (halves, "F64")])
    show("`convert --to`, peak memory", memory, "KiB")
    for options in [["--to", "BF16"], ["--to", "F16"], ["--to", "F8_E4M3"], scale]:
        command = convert(singles, *options)
        case(f"`convert {' '.join(options)}` of F32 on all cores, beside one", command, [on([core], command[0])])
    hashed = [[program, "hash", singles]]
    case("`hash`, beside `openssl`", hashed, [["openssl", "dgst", "-sha256", singles]], core)
    case("`hash`, beside `sha256sum`", hashed, [["sha256sum", singles]], core)
    tensors = [program, "hash", "--tensors", singles]
    case("`hash --tensors` on two cores, beside `hash`", [on(cores[:2], tensors)], [on(cores[:2], hashed[0])])
    case("`checkpoint`, beside `cp` and `hash`", [[program, "checkpoint", few, singles]], copied + hashed, core)
    limit = f"{MEGABYTES // TENSORS}MiB"
    run([program, "split", singles, "-o", many, "--max-size", limit], None)
    case("`split`, beside `cp`", [[program, "split", singles, "-o", few, "--max-size", limit]], copied, core)
    hub = [[*interpreter, SPLIT, singles, shards, (MEGABYTES // TENSORS) << 20]]
    case("`split`, beside huggingface_hub", [[program, "split", singles, "-o", few, "--max-size", limit]], hub, core)
    case("`join`, beside `cp`", [[program, "join", many, "-o", out]], copied, core)
    case("`pack`, beside `cp`", [[program, "pack", singles, "-o", out]], copied, core)
    reference = [[*interpreter, REFERENCE, singles, copy], ["sync", copy]]
    case("`pack`, beside the reference's `load_file` and `save_file`", [[program, "pack", singles, "-o", out]], reference, core)


def measure_torch(directory, program, python, model, case, core):
    """Files of PyTorch, beside `cp` and PyTorch itself."""
    out, copy, present, legacy = (directory / name for name in ["o.safetensors", "copy", "m.pt", "legacy.pt"])
    run([python, "-B", "-c", TORCH_FILES, model, present, legacy], None)
    for path, what in [(present, "`.pt`"), (legacy, "`.pt` before PyTorch 1.6")]:
        ours = [[program, "convert", path, out]]
        case(f"`convert` of {what}, beside `cp`", ours, [["cp", path, copy], ["sync", copy]], core)
        loaded = [[python, "-B", "-c", TORCH, path, copy]]
        case(f"`convert` of {what}, beside `torch.load` and `save_file`", ours, loaded, core)
        path.unlink()


if __name__ == "__main__":
    main()
