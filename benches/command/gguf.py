"""Compares the speed of dequantisation with that of gguf-py, in seconds of the processor, each the best of five, and prints the ratios.

python3 gguf_speed.py [--figures] -- PROGRAM [TYPE...]

PROGRAM is the example `gguf` of this crate, built with optimisation. It reads the blocks from a file that the system has in
memory; gguf-py has them in memory already. Ends non-zero if a type is not at least 10 times as fast. With `--figures`, prints a
line of JSON for each type and dtype instead: `ours` and `other` in seconds, and their `ratio`.
"""

import json
import os
import pathlib
import resource
import sys
import tempfile
import time

import numpy
from gguf import GGMLQuantizationType as Type
from gguf import GGUFWriter
from gguf.quants import dequantize, quantize

import gguf_oracle
from gguf_oracle import BLOCKS, NOT_DEQUANTISED, PLAIN

ROWS, ROW, ROUNDS, REPEATED, NEEDED = 4096, 4096, 3, 4, 10


def ours(program, form, path):
    """Returns the least seconds of the processor, without those of the program's start."""
    best = 1e9
    for _ in range(ROUNDS):
        begin = children()
        code, _, err = gguf_oracle.run(program, "time", form, path, str(REPEATED))
        if code:
            sys.exit(err)
        best = min(best, (children() - begin) / REPEATED)
    return best


def children():
    """Returns the seconds of the processor that all programs had."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def theirs(blocks, kind, form):
    """Returns the least seconds of the processor of gguf-py, which rounds with numpy or with its own BF16."""
    best = 1e9
    for _ in range(ROUNDS):
        begin = time.process_time()
        with numpy.errstate(all="ignore"):
            floats = dequantize(blocks, kind)
            if form == "f16":
                floats.astype(numpy.float16)
            elif form == "bf16":
                quantize(floats, Type.BF16)
        best = min(best, time.process_time() - begin)
    return best


def rate(seconds):
    """Returns millions of elements a second."""
    return f"{ROWS * ROW / 1e6 / seconds:7.0f}"


def figures(kind, forms, times, bases):
    """Prints a line of JSON for each dtype."""
    for form, seconds, base in zip(forms, times, bases):
        name = f"{kind} of GGUF to {form.upper()}, beside gguf-py"
        print(json.dumps({"name": name, "ours": seconds, "other": base, "ratio": seconds / base}), flush=True)


def main():
    """Measures each type."""
    words, is_judged = [word for word in sys.argv[1:] if not word.startswith("--")], "--figures" not in sys.argv
    program = str(pathlib.Path(words[0]).resolve())
    chance, slow = numpy.random.default_rng(0), []
    if is_judged:
        print("million elements a second by gguf-py and by us, and the ratio, for F32, F16 and BF16")
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for kind in [Type[name] for name in words[1:]] or Type:
            if kind in PLAIN or kind in NOT_DEQUANTISED:
                continue
            blocks = gguf_oracle.raw(kind, [ROWS, ROW // BLOCKS[kind][0] * BLOCKS[kind][0]], chance, False)
            writer = GGUFWriter("one.gguf", "test")
            writer.add_tensor("t", blocks, raw_dtype=kind)
            gguf_oracle.finish(writer)
            forms = ["f32", "f16", "bf16"] if is_judged else ["f32", "f16"]
            bases = [theirs(blocks, kind, form) for form in forms]
            times = [ours(program, form, "one.gguf") for form in forms]
            if not is_judged:
                figures(kind.name, forms, times, bases)
                continue
            ratios = [base / seconds for base, seconds in zip(bases, times)]
            both = [f"{rate(base)} {rate(seconds)} {ratio:6.1f}" for base, seconds, ratio in zip(bases, times, ratios)]
            print(f"{kind.name:8}" + "  ".join(both), flush=True)
            slow += [kind.name] if ratios[0] < NEEDED else []
        os.chdir("/")
    if slow:
        print("less than 10 times as fast:", *slow)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
