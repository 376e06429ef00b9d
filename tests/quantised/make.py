"""Writes quantised.safetensors, a model with a quantised matrix of each layout, and products.txt, the bits of its products
with a vector.

The arithmetic is that of the module `quant`, written for numpy: every operation on floats is one rounded operation on
float32. The boards, the desktop and the tests of the library must have the same bits.
"""

import importlib.metadata
import json
import pathlib
import random
import struct

import ml_dtypes
import numpy as np
from ai_edge_litert.interpreter import Interpreter

MODEL = pathlib.Path(__file__).parents[2] / "firmware/app/models/quantised.safetensors"
PRODUCTS = pathlib.Path(__file__).with_name("products.txt")
ROWS, COLUMNS, GROUP = 6, 96, 32
E4M3 = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
F4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def integers(dice, low, high, *shape):
    """Returns random integers from low to high."""
    count = int(np.prod(shape, dtype=int))
    return np.array([dice.randint(low, high) for _ in range(count)]).reshape(shape)


def floats(dice, dtype, *shape):
    """Returns random scales, about a hundredth."""
    count = int(np.prod(shape, dtype=int))
    return np.array([dice.uniform(0.002, 0.02) for _ in range(count)]).astype(dtype).reshape(shape)


def packed(halves):
    """Returns two values of 4 bits a byte, the first in the low half."""
    return (halves[:, 0::2] | halves[:, 1::2] << 4).astype(np.uint8)


def wake_word():
    """Returns weights of a convolution of pymicro-wakeword, which is under Apache-2.0: the first of the first outputs, and
    their scales."""
    files = importlib.metadata.files("pymicro-wakeword")
    (path,) = [file.locate() for file in files if file.name == "alexa.tflite"]
    reader = Interpreter(str(path))
    (found,) = [one for one in reader.get_tensor_details() if one["name"] == "model_1/stream_6/conv2d_5/Conv2D"]
    weights, scales = reader.get_tensor(found["index"]), found["quantization_parameters"]["scales"]
    return weights.reshape(len(weights), -1)[:ROWS, :COLUMNS], scales[:ROWS]


def matrices():
    """Returns for each matrix its tensors in the file, the integers of its values, its zero points and scales for
    each value, and what the integers are multiplied by first."""
    dice = random.Random("quantised matrices")
    per_row = lambda factors: np.repeat(factors, COLUMNS // factors.shape[1], axis=1)

    weights, scales = wake_word()
    tensors = {"channel": ("I8", weights), "channel.scale": ("F32", scales)}
    yield "channel", tensors, weights.astype(int), np.zeros((ROWS, 1), int), scales[:, None], None

    weights, scale, zero = integers(dice, 0, 255, ROWS, COLUMNS), floats(dice, np.float32), integers(dice, 100, 150)
    tensors = {"tensor": ("U8", weights.astype(np.uint8)), "tensor.scale": ("F32", scale)}
    tensors["tensor.zero_point"] = ("U8", zero.astype(np.uint8))
    yield "tensor", tensors, weights, np.full((ROWS, 1), zero), np.full((ROWS, 1), scale), None

    groups = (ROWS, COLUMNS // GROUP)
    weights, scales, zeros = integers(dice, 0, 15, ROWS, COLUMNS), floats(dice, np.float16, *groups), integers(dice, 0, 15, *groups)
    tensors = {"group": ("U8", packed(weights)), "group.scale": ("F16", scales), "group.zero_point": ("U8", zeros.astype(np.uint8))}
    yield "group", tensors, weights, zeros, scales, None

    weights, exponents = integers(dice, 0, 15, ROWS, COLUMNS), integers(dice, 118, 124, *groups)
    tensors = {"mx": ("F4", packed(weights)), "mx.scale": ("F8_E8M0", exponents.astype(np.uint8))}
    yield "mx", tensors, weights, np.zeros(groups, int), np.float32(2.0) ** (exponents - 127), F4

    groups = (ROWS, COLUMNS // 16)
    for name, part, factor in ("nv", "scale_2", 0.0021), ("nv.packed", "global_scale", 420):
        weights, scales, factor = integers(dice, 0, 15, ROWS, COLUMNS), integers(dice, 1, 126, *groups).astype(np.uint8), np.float32(factor)
        tensors = {name: ("U8", packed(weights)), f"{name}.scale": ("F8_E4M3", scales), f"{name}.{part}": ("F32", factor)}
        yield name, tensors, weights, np.zeros(groups, int), E4M3[scales] * factor if name == "nv" else E4M3[scales] / factor, F4

    weights, scales = integers(dice, 0, 126, ROWS, COLUMNS) + 128 * integers(dice, 0, 1, ROWS, COLUMNS), floats(dice, np.float32, 1, 1)
    tensors = {"fp8": ("F8_E4M3", weights.astype(np.uint8)), "fp8.scale": ("F32", scales)}
    yield "fp8", tensors, weights, np.zeros((ROWS, 1), int), np.repeat(scales, ROWS, axis=0), E4M3


def values_of(weights, zeros, scales, table):
    """Returns the values of a row."""
    spread = lambda factors: np.repeat(factors, COLUMNS // len(factors))
    exact = table[weights] if table is not None else (weights - spread(zeros)).astype(np.float32)
    return exact * spread(scales).astype(np.float32)


def product_of_values(values, inputs):
    """Adds the products in order, each operation rounded."""
    total = np.float32(0)
    for value, number in zip(values, inputs):
        total = np.float32(total + np.float32(value * number))
    return total


def product_of_integers(weights, zeros, scales, table, inputs):
    """Adds exact integers within each group, and multiplies them by the scale."""
    # All floats of a table are multiples of the smallest.
    unit = table[table > 0].min() if table is not None else np.float32(1)
    exact = (table[weights] / unit).astype(int) if table is not None else weights - np.repeat(zeros, COLUMNS // len(zeros))
    total = np.float32(0)
    for group, scale in enumerate(scales.astype(np.float32)):
        part = slice(group * (COLUMNS // len(scales)), (group + 1) * (COLUMNS // len(scales)))
        integer = np.float32(int((exact[part] * inputs[part]).sum()))
        total = np.float32(total + np.float32(np.float32(integer * unit) * scale))
    return total


def bits(number):
    return f"{np.float32(number).view(np.uint32):08x}"


def make():
    """Returns the file and the lines."""
    dice = random.Random("inputs of quantised matrices")
    inputs = np.array([dice.uniform(-2, 2) for _ in range(COLUMNS)]).astype(np.float32)
    steps = integers(dice, -128, 127, COLUMNS)
    tensors, lines = {"input": ("F32", inputs), "input.i8": ("I8", steps.astype(np.int8))}, []
    for name, parts, weights, zeros, scales, table in matrices():
        tensors |= parts
        for row in range(ROWS):
            factors = weights[row], zeros[row], scales[row], table
            product = product_of_values(values_of(*factors), inputs)
            dot = product_of_integers(*factors, steps)
            lines.append(f"product of {name}, row {row}: {bits(product)} of values, {bits(dot)} of integers\n")
    return file(tensors), "".join(lines)


def file(tensors):
    header, data = {}, b""
    for name, (dtype, array) in tensors.items():
        shape = list(array.shape)
        if dtype == "F4":
            shape[-1] *= 2
        begin, data = len(data), data + array.tobytes()
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


if __name__ == "__main__":
    model, lines = make()
    MODEL.write_bytes(model)
    PRODUCTS.write_text(lines)
