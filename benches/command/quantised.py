"""Measures dequantisation beside gguf-py, in seconds of the processor, each the best of three, for `cargo xtask measure command`.

python3 quantised.py PROGRAM TYPE...

PROGRAM is the example `gguf` of safetensors-convert, built with optimisation. It reads the blocks from a file that the system
has in memory; gguf-py has them in memory already. Prints a line of JSON for each type and dtype: `ours` and `other` in seconds,
and their `ratio`.
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy
from gguf import GGML_QUANT_SIZES, GGUFWriter
from gguf import GGMLQuantizationType as Type
from gguf.quants import dequantize

ROWS, ROW, ROUNDS, REPEATED = 4096, 4096, 3, 4


def ours(program, form, path):
    """Returns the least seconds of the processor, without those of the program's start."""
    best = 1e9
    for _ in range(ROUNDS):
        begin = children()
        subprocess.run([program, "time", form, path, str(REPEATED)], check=True, stdout=subprocess.DEVNULL)
        best = min(best, (children() - begin) / REPEATED)
    return best


def children():
    """Returns the seconds of the processor that all programs had."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def theirs(blocks, kind, form):
    """Returns the least seconds of the processor of gguf-py, which rounds with numpy."""
    best = 1e9
    for _ in range(ROUNDS):
        begin = time.process_time()
        with numpy.errstate(all="ignore"):
            floats = dequantize(blocks, kind)
            if form == "f16":
                floats.astype(numpy.float16)
        best = min(best, time.process_time() - begin)
    return best


def main():
    program, kinds = str(pathlib.Path(sys.argv[1]).resolve()), [Type[name] for name in sys.argv[2:]]
    chance = numpy.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "one.gguf")
        for kind in kinds:
            elements, size = GGML_QUANT_SIZES[kind]
            blocks = chance.integers(0, 256, (ROWS, ROW // elements * size), numpy.uint8)
            writer = GGUFWriter(path, "test")
            writer.add_tensor("t", blocks, raw_dtype=kind)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
            for form in ["f32", "f16"]:
                seconds, base = ours(program, form, path), theirs(blocks, kind, form)
                name = f"{kind.name} of GGUF to {form.upper()}, beside gguf-py"
                print(json.dumps({"name": name, "ours": seconds, "other": base, "ratio": seconds / base}), flush=True)


main()
