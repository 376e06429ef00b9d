"""Writes tables.safetensors: the elements of every dtype as values of every type.

The values come from numpy and ml_dtypes, not from this project. The tables have all elements of dtypes of up to 16
bits; of wider ones the limits, the numbers half way between two values, and 4096 random ones.

For a pair of dtype and type the file has a tensor `F16.lossless.f32` or `I64.rounded.f32` with the values of the
elements `F16.elements`, or, where that would be large, the SHA-256 of their bytes under this name in `__metadata__`.
Elements of 8 and 16 bits are all possible ones in order, and not stored. A pair without either has no conversion. A
conversion is lossless if every element is recovered from its value.

NaNs never depend on the computer that runs this: processors make signalling ones quiet, and ml_dtypes drops
payloads. `nan` computes their values from the bits. The libraries only confirm that the value is a NaN with that
sign and, where they keep it, that payload, except for the quiet bit.
"""

import hashlib
import json
import pathlib
import random
import struct

import ml_dtypes
import numpy as np

FILE = pathlib.Path(__file__).with_name("tables.safetensors")
RANDOM_ELEMENTS = 4096
# Longer tables are stored as digests, except these and those whose values are the elements.
LONGEST = 8192
ALWAYS = ["F16.lossless.f32", "BF16.lossless.f32"]

# The names of the dtypes in numpy and ml_dtypes.
NUMPY = {
    "F4": ml_dtypes.float4_e2m1fn, "F6_E2M3": ml_dtypes.float6_e2m3fn, "F6_E3M2": ml_dtypes.float6_e3m2fn,
    "F8_E5M2": ml_dtypes.float8_e5m2, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64,
    "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16,
    "U32": np.uint32, "I32": np.int32, "U64": np.uint64, "I64": np.int64,
    "BOOL": np.bool_, "C64": np.float32,
}
BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
# The types of values, and their dtypes.
FLOATS = {"f32": "F32", "f64": "F64"}
INTEGERS = {"u8": "U8", "i8": "I8", "u16": "U16", "i16": "I16", "u32": "U32", "i32": "I32", "u64": "U64", "i64": "I64"}
HALVES = {"f16": "F16", "bf16": "BF16"}
# The bits of a NaN's payload, and the bits of an element. Dtypes without a row have a single NaN,
# with or without a sign, which is the quiet one without a payload.
PAYLOAD = {"F8_E5M2": (2, 8), "F16": (10, 16), "BF16": (7, 16), "F32": (23, 32), "C64": (23, 32), "F64": (52, 64)}
SIGNED_NAN = ["F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2FNUZ"]


def bits_of(dtype):
    return BITS.get(dtype, np.dtype(NUMPY[dtype]).itemsize * 8)


def elements(dtype):
    """Returns the elements as unsigned numbers."""
    bits = bits_of(dtype)
    if bits == 4:
        return np.arange(256, dtype=np.uint8).repeat(2) >> np.tile([0, 4], 256).astype(np.uint8) & 15
    if bits == 6:
        # Each at each of the four positions in three bytes.
        return np.array([(i + turn) % 64 for turn in range(4) for i in range(64)], dtype=np.uint8)
    if bits <= 16:
        return np.arange(1 << bits, dtype=UNSIGNED[bits])
    kind = np.dtype(NUMPY[dtype]).kind
    found = float_borders(bits) if kind == "f" else integer_borders(bits, kind == "i")
    dice = random.Random(f"elements of {dtype}")
    found += [dice.getrandbits(bits) for _ in range(RANDOM_ELEMENTS)]
    # Random integers of all lengths, because most random 64-bit numbers are long.
    if kind != "f":
        found += [dice.getrandbits(bits) >> dice.randrange(bits) for _ in range(RANDOM_ELEMENTS // 8)]
    return np.array(found + found[: len(found) % 2], dtype=UNSIGNED[bits])


def integer_borders(bits, signed):
    """Returns limits, powers of two, and values half way between two floats, with their neighbours and negatives."""
    top = bits - signed
    found = {0, (1 << top) - 1}
    found |= {(1 << power) + near for power in range(top) for near in (-2, -1, 0, 1, 2)}
    for mantissa in (24, 53):
        for shift in range(1, top - mantissa + 1):
            half = 1 << (shift - 1)
            for whole in ((1 << mantissa) - 1, (1 << mantissa) - 2, 1 << (mantissa - 1), (1 << (mantissa - 1)) + 1):
                found |= {(whole << shift) + half + near for near in (-1, 0, 1)}
    found = {number for number in found if 0 <= number < 1 << top}
    if signed:
        found |= {-number for number in found} | {-(1 << top)}
    return [number % (1 << bits) for number in sorted(found)]


def float_borders(bits):
    mantissa, exponents = (23, 256) if bits == 32 else (52, 2048)
    low = [0, 1, 2, 3, 1 << (mantissa - 1), (1 << (mantissa - 1)) + 1, (1 << mantissa) - 2, (1 << mantissa) - 1]
    near = range(exponents) if bits == 32 else [0, 1, 2, 1022, 1023, 1024, 2045, 2046, 2047, *range(860, 910), *range(1140, 1155)]
    found = [exponent << mantissa | part for exponent in near for part in low]
    if bits == 64:
        found += around_f32s() + f64_nans()
    return [sign << (bits - 1) | magnitude for magnitude in found for sign in (0, 1)]


def around_f32s():
    """Returns values half way between two neighbours that are F32, with their own neighbours; also below infinity."""
    dice = random.Random("around")
    lower = [0, 1, 2, 0x007FFFFE, 0x007FFFFF, 0x00800000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x7F7FFFFE, 0x7F7FFFFF]
    lower += [dice.randrange(0x7F800000) for _ in range(200)] + [dice.randrange(0x00800000) for _ in range(100)]
    found = []
    for bits in lower:
        upper = 2.0**128 if bits == 0x7F7FFFFF else f32(bits + 1)
        (half,) = struct.unpack("<Q", struct.pack("<d", (f32(bits) + upper) / 2))
        found += [half - 1, half, half + 1]
    return found


def f32(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def f64_nans():
    payloads = [1, 0x1FFFFFFF, 0x20000000, 0x3FFFFFFF, 0x123456789ABCD, 1 << 51, (1 << 51) + 1, (1 << 52) - 1]
    return [0x7FF << 52 | payload for payload in payloads]


def numbers(dtype, raw):
    """Returns the elements as numpy values."""
    return raw != 0 if dtype == "BOOL" else raw.view(NUMPY[dtype])


def nan(dtype, element, to):
    """Returns the bits of the value of a NaN."""
    mantissa, bits = (23, 32) if to == "F32" else (52, 64)
    exponent = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
    sign = element >> (bits_of(dtype) - 1) & 1 if dtype in PAYLOAD or dtype in SIGNED_NAN else 0
    if dtype not in PAYLOAD:
        return sign << (bits - 1) | exponent | 1 << (mantissa - 1)
    width, _ = PAYLOAD[dtype]
    payload = element & ((1 << width) - 1)
    if width > mantissa:  # rounded: its upper bits, and quiet
        payload = payload >> (width - mantissa) | 1 << (mantissa - 1)
    else:
        payload <<= mantissa - width
    return sign << (bits - 1) | exponent | payload


def as_floats(dtype, raw, to):
    """Returns the bits of the values, and whether every element is recovered from its value."""
    source = numbers(dtype, raw)
    if source.dtype.kind in "iub":
        values = source.astype(NUMPY[to])
        return values.view(UNSIGNED[values.itemsize * 8]), exact(source, values)
    with np.errstate(all="ignore"):
        values = source.astype(NUMPY[to])
        is_nan = np.isnan(source)
        assert np.array_equal(is_nan, np.isnan(values))
        back = np.all((values.astype(source.dtype) == source) | is_nan)
    bits = values.view(UNSIGNED[values.itemsize * 8]).copy()
    for place in np.flatnonzero(is_nan):
        bits[place] = checked_nan(dtype, int(raw[place]), to, int(bits[place]))
    return bits, back


def exact(integers, values):
    """Python compares integers and floats by their values, without rounding."""
    return all(int(integer) == float(value) for integer, value in zip(integers, values))


def checked_nan(dtype, element, to, seen):
    """Returns the expected NaN, and checks that numpy has the same, except as described above."""
    expected = nan(dtype, element, to)
    quiet = 1 << (22 if to == "F32" else 51)
    sign = 1 << (31 if to == "F32" else 63)
    forgets = dtype == "F8_E5M2"
    differ = (expected ^ seen) & (sign if forgets else ~quiet)
    assert differ == 0, f"{dtype} {element:#x} is {seen:#x} in the libraries, not {expected:#x}"
    return expected


def as_integers(dtype, raw, to):
    """Returns the values, if the type has all of them."""
    source = numbers(dtype, raw)
    if source.dtype.kind not in "iub":
        return None
    low, high = (0, 1) if dtype == "BOOL" else (np.iinfo(source.dtype).min, np.iinfo(source.dtype).max)
    fits = np.iinfo(NUMPY[to]).min <= low and high <= np.iinfo(NUMPY[to]).max
    return source.astype(NUMPY[to]) if fits else None


def conversions(dtype, raw):
    """Yields name and bits of each existing conversion."""
    for name, to in FLOATS.items():
        if to == dtype or (dtype == "C64" and to == "F32"):
            yield f"{dtype}.lossless.{name}", raw
        else:
            bits, lossless = as_floats(dtype, raw, to)
            yield f"{dtype}.{'lossless' if lossless else 'rounded'}.{name}", bits
    for name, to in INTEGERS.items():
        values = as_integers(dtype, raw, to)
        if values is not None:
            yield f"{dtype}.lossless.{name}", raw if to == dtype else values
    for name, to in HALVES.items():
        if to == dtype:
            yield f"{dtype}.lossless.{name}", raw


def pack(dtype, raw):
    """Returns the bytes of the elements, the lowest bit of each byte first."""
    bits = bits_of(dtype)
    if bits >= 8:
        return raw.tobytes()
    stream = sum(int(element) << (bits * place) for place, element in enumerate(raw))
    return stream.to_bytes(len(raw) * bits // 8, "little")


def file():
    digests, tensors = {}, {}
    for dtype in NUMPY:
        raw = elements(dtype)
        if bits_of(dtype) not in (8, 16):
            count = len(raw) // 2 if dtype == "C64" else len(raw)
            tensors[f"{dtype}.elements"] = (dtype, count, pack(dtype, raw))
        for name, values in conversions(dtype, raw):
            to = {**FLOATS, **INTEGERS, **HALVES}[name.rsplit(".")[-1]]
            if len(values) <= LONGEST and values is not raw or name in ALWAYS:
                tensors[name] = (to, len(values), values.tobytes())
            else:
                digests[name] = hashlib.sha256(values.tobytes()).hexdigest()
    return assemble(digests, tensors)


def assemble(digests, tensors):
    header, data = {"__metadata__": digests}, b""
    for name, (dtype, count, held) in tensors.items():
        header[name] = {"dtype": dtype, "shape": [count], "data_offsets": [len(data), len(data) + len(held)]}
        data += held
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


FILE.write_bytes(file())
