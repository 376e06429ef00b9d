"""Writes values.safetensors, with a tensor of each dtype, and values.json: the statistics of each.

Needs numpy and ml_dtypes. `host/tests/stats.rs` compares `safetensors stats` with it.
"""

import json
import math
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np

HERE = Path(__file__).parent
QUANTILES = [0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999]
FLOATS = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
    "F8_E5M2": ml_dtypes.float8_e5m2, "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "F6_E2M3": ml_dtypes.float6_e2m3fn, "F6_E3M2": ml_dtypes.float6_e3m2fn, "F4": ml_dtypes.float4_e2m1fn,
}
INTEGERS = {
    "I8": np.int8, "U8": np.uint8, "I16": np.int16, "U16": np.uint16,
    "I32": np.int32, "U32": np.uint32, "I64": np.int64, "U64": np.uint64,
}


def packed(codes, bits):
    """Elements of fewer than 8 bits, the first one in the lowest bits."""
    word = sum(int(code) << (bits * index) for index, code in enumerate(codes))
    return word.to_bytes(len(codes) * bits // 8, "little")


def tensors():
    """The name, dtype, shape, bytes and values of each tensor."""
    random = np.random.default_rng(26)
    for name, dtype in FLOATS.items():
        bits = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}.get(name)
        count = {"F64": 5000, "F32": 20000}.get(name, 3000)
        array = random.normal(0.1, 1.0, count)
        array[::50] = 0
        if bits is None:
            array[7::500] = np.nan
            array[8::900] = np.inf
            array[9::1100] = -np.inf
        array = array.astype(dtype)
        data = packed(array.view(np.uint8), bits) if bits else array.tobytes()
        yield f"float.{name}", name, [count // 20, 20], data, array.astype(np.float64)
    exponents = random.integers(0, 256, 500).astype(np.uint8)
    yield "float.F8_E8M0", "F8_E8M0", [500], exponents.tobytes(), exponents.view(
        ml_dtypes.float8_e8m0fnu).astype(np.float64)
    for name, dtype in INTEGERS.items():
        ends = np.iinfo(dtype)
        array = random.integers(ends.min, ends.max, 2000, dtype=dtype, endpoint=True)
        array[::10] = 0
        yield f"integer.{name}", name, [2000], array.tobytes(), array
    truth = random.random(999) < 0.3
    yield "bool", "BOOL", [999], truth.tobytes(), truth.astype(np.int64)
    complex_ = (random.normal(2, 3, 500) + 1j * random.normal(-1, 0.5, 500)).astype(np.complex64)
    yield "complex", "C64", [500], complex_.tobytes(), complex_.view(np.float32).astype(np.float64)
    for name, array in [
        # Two sums of squares would cancel.
        ("far", 1e9 + random.normal(0, 1e-3, 10000)),
        ("wide", random.normal(0, 1, 6000) * 10.0 ** random.integers(-200, 140, 6000)),
        ("small", random.normal(0, 1, 1500)),
        ("one", np.array([-2.5])),
        ("none", np.array([])),
        ("only-nan", np.array([np.nan, np.inf])),
    ]:
        yield f"shape.{name}", "F64", [len(array)], array.tobytes(), array


def facts(values):
    """What numpy says of the finite values, and fractions of their mean and standard deviation."""
    is_integer = np.issubdtype(values.dtype, np.integer)
    finite = values if is_integer else values[np.isfinite(values)]
    told = {
        "values": len(values), "zeros": int((values == 0).sum()), "nan": 0 if is_integer else int(np.isnan(values).sum()),
        "inf": 0 if is_integer else int(np.isposinf(values).sum()),
        "negative_inf": 0 if is_integer else int(np.isneginf(values).sum()),
    }
    if len(finite) == 0:
        return told
    # Integers are Python's, so nothing is rounded before the end.
    exact = [int(value) if is_integer else float(value) for value in finite]
    # As fractions: numpy's own mean of "shape.far" is rounded, which its standard deviation shows.
    fractions = [Fraction(value) for value in exact]
    mean = sum(fractions) / len(exact)
    variance = sum((value - mean) ** 2 for value in fractions) / len(exact)
    doubles = finite.astype(np.float64)
    quantile = lambda method: [float(value) for value in np.quantile(doubles, QUANTILES, method=method)]
    return told | {
        "min": exact[int(np.argmin(finite))], "max": exact[int(np.argmax(finite))],
        "mean": float(mean), "std": math.sqrt(variance),
        "quantiles": quantile("linear"), "lower": quantile("lower"), "higher": quantile("higher"),
    }


def main():
    header, data, told = {}, b"", {}
    for name, dtype, shape, piece, values in tensors():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
        told[name] = facts(values)
    text = json.dumps(header).encode()
    (HERE / "values.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    (HERE / "values.json").write_text(json.dumps(told, indent=1) + "\n")


main()
