"""Random slices of random tensors are numpy's `a[...]`. programs/slices.rs describes the protocol of the questions."""

import subprocess

import numpy
import pytest
from support import built

pytestmark = pytest.mark.main

CASES, PARTS = 110_000, 4
# The numpy types of the dtypes; integers of the same width where numpy has none.
DTYPES = {
    "BOOL": "u1", "U8": "u1", "I8": "i1", "I16": "<i2", "U16": "<u2", "F16": "<f2", "BF16": "<u2",
    "F8_E5M2": "u1", "F8_E4M3": "u1", "F8_E8M0": "u1", "F8_E4M3FNUZ": "u1", "F8_E5M2FNUZ": "u1",
    "I32": "<i4", "U32": "<u4", "F32": "<f4", "C64": "<c8", "F64": "<f8", "I64": "<i8", "U64": "<u8",
}
BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
NAMES = sorted(DTYPES) + sorted(BITS)


def random_dims(dice, bits):
    rank = dice.randint(0, 8)
    dims = [0 if dice.random() < 0.03 else dice.randint(1, dice.choice([2, 4, 4, 12])) for _ in range(rank)]
    while numpy.prod(dims, dtype=int) > 3000:
        dims[dice.randrange(rank)] = 1
    if numpy.prod(dims, dtype=int) * bits % 8:
        if rank == 0:
            dims = [4]
        else:
            dims[dice.randrange(rank)] *= 4
    return dims


def random_range(dice, size):
    """Returns a range in the question's spelling and in numpy's form."""
    step = 1 if dice.random() < 0.5 else dice.randint(1, size + 2)
    start, end = dice.randint(0, size), dice.randint(0, size)
    if dice.random() < 0.9:
        start, end = sorted([start, end])
    forms = {
        "a": lambda: (f"a{step}", slice(None, None, step)),
        "f": lambda: (f"f{start},{step}", slice(start, None, step)),
        "t": lambda: (f"t{end},{step}", slice(None, end, step)),
        "r": lambda: (f"r{start},{end},{step}", slice(start, end, step)),
        "e": lambda: (f"r{start},{start},{step}", slice(start, start, step)),
    }
    if end > 0:
        forms["T"] = lambda: (f"T{end - 1},{step}", slice(None, end, step))
        forms["R"] = lambda: (f"R{start},{end - 1},{step}", slice(start, end, step))
    if size > 0:
        forms["i"] = lambda: (f"i{start % size}", start % size)
    if dice.random() < 0.005:
        return f"i{size + start}", size + start
    return forms[dice.choice(sorted(forms))]()


def random_case(dice):
    """Returns a dtype, an array, its bytes in a file, and the ranges in both forms."""
    name = dice.choice(NAMES)
    bits = BITS.get(name) or numpy.dtype(DTYPES[name]).itemsize * 8
    dims = random_dims(dice, bits)
    count = int(numpy.prod(dims, dtype=int))
    if name in BITS:
        array = numpy.frombuffer(dice.randbytes(count), "u1").reshape(dims) & ((1 << bits) - 1)
        # The lowest bit of each code first, and of each byte.
        stream = (array.reshape(-1, 1) >> numpy.arange(bits, dtype="u1")) & 1
        data = numpy.packbits(stream.astype("u1").reshape(-1), bitorder="little").tobytes()
    else:
        data = dice.randbytes(count * bits // 8)
        array = numpy.frombuffer(data, DTYPES[name]).reshape(dims)
    axes = dice.randint(0, len(dims)) if dice.random() < 0.2 else len(dims)
    ranges = [random_range(dice, size) for size in dims[:axes]]
    return name, array, data, [words for words, _ in ranges], tuple(index for _, index in ranges)


def right_answer(array, index):
    try:
        # Scalars become arrays.
        result = numpy.asarray(array[index])
    except IndexError:
        return "refused", b""
    return ",".join(map(str, result.shape)), result.tobytes()


def ask(program, name, array, data, words):
    dims = ",".join(map(str, array.shape))
    program.stdin.write(f"{name} {dims} {len(data)}|{' '.join(words)}\n".encode() + data)
    program.stdin.flush()
    shape, length = program.stdout.readline().decode().rstrip("\n").split("|")
    return shape, program.stdout.read(int(length))


@pytest.mark.parametrize("part", range(PARTS))
def test_slices_are_those_of_numpy(part, dice):
    refused = 0
    with subprocess.Popen([built("slices")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        for case in range(CASES // PARTS):
            name, array, data, words, index = random_case(dice)
            expected = right_answer(array, index)
            refused += expected[0] == "refused"
            assert ask(program, name, array, data, words) == expected, f"case {case}: {name}{array.shape}[{' '.join(words)}]"
        program.stdin.close()
    assert program.returncode == 0 and refused
