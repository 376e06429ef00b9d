"""Layers of GPTQ and AWQ that the command rewrites have the values that numpy makes of the packed integers.

The layers are packed as AutoGPTQ, GPTQModel and AutoAWQ pack them.
"""

import numpy
import pytest
import safetensors.numpy
from support import run

pytestmark = pytest.mark.main

AWQ = [0, 2, 4, 6, 1, 3, 5, 7]
SHIFTS = numpy.arange(0, 32, 4, dtype=numpy.uint32)


def pack(values, order=range(8)):
    """Packs eight columns into an integer, in this order from the lowest bits on."""
    columns = values.reshape(values.shape[0], -1, 8)[:, :, list(order)].astype(numpy.uint32)
    return (columns << SHIFTS).sum(axis=2, dtype=numpy.uint32).view(numpy.int32)


def unpack(packed, order=range(8)):
    """The inverse, one shift for each value."""
    values = packed.view(numpy.uint32)[:, :, None] >> SHIFTS & 15
    values = values[:, :, numpy.argsort(list(order))]
    return values.reshape(packed.shape[0], -1).astype(numpy.int64)


def layer(dice, kind, inputs, outputs, group, dtype):
    """Returns the packed tensors of a layer, and its values as a matrix of outputs and inputs."""
    groups = inputs // group
    weights = dice.integers(0, 16, (inputs, outputs))
    zeros = dice.integers(1, 16, (groups, outputs))
    scales = dice.uniform(0.001, 0.1, (groups, outputs)).astype(dtype)
    order = AWQ if kind == "awq" else range(8)
    stored = zeros - (kind == "gptq")
    tensors = {"qzeros": pack(stored, order), "scales": scales}
    if kind == "awq":
        tensors["qweight"] = pack(weights, order)
        found = unpack(tensors["qweight"], order)
    else:
        tensors["qweight"] = numpy.ascontiguousarray(pack(numpy.ascontiguousarray(weights.T)).T)
        tensors["g_idx"] = (numpy.arange(inputs) // group).astype(numpy.int32)
        found = unpack(numpy.ascontiguousarray(tensors["qweight"].T)).T
    zeros = unpack(tensors["qzeros"], order) + (kind == "gptq")
    spread = lambda factors: factors.repeat(group, axis=0)
    values = (found - spread(zeros)).astype(numpy.float32) * spread(scales).astype(numpy.float32)
    return tensors, values.T


def rewritten(tensors, name, group):
    """Returns the values of a rewritten layer."""
    packed, scales = tensors[f"{name}.weight"], tensors[f"{name}.weight.scale"].astype(numpy.float32)
    weights = numpy.stack([packed & 15, packed >> 4], axis=2).reshape(packed.shape[0], -1).astype(numpy.int64)
    zeros = tensors.get(f"{name}.weight.zero_point", numpy.full(scales.shape, 8)).astype(numpy.int64)
    return (weights - zeros.repeat(group, axis=1)).astype(numpy.float32) * scales.repeat(group, axis=1)


@pytest.mark.parametrize("kind", ["gptq", "gptq-v2", "awq"])
@pytest.mark.parametrize("group", [32, 64, 128])
def test_rewritten_layers_have_the_same_values(kind, group, place, dice):
    dice = numpy.random.default_rng(dice.getrandbits(32))
    file, expected = {"other.weight": dice.uniform(size=(3, 5))}, {}
    for number, dtype in enumerate([numpy.float16, numpy.float32]):
        inputs, outputs = group * int(dice.integers(1, 9)), 8 * int(dice.integers(1, 40))
        tensors, values = layer(dice, kind, inputs, outputs, group, dtype)
        file |= {f"layers.{number}.{end}": array for end, array in tensors.items()}
        expected[f"layers.{number}"] = values
    safetensors.numpy.save_file(file, "old.safetensors")
    run("quant", "old.safetensors", "--from", kind, "-o", "new.safetensors")
    written = safetensors.numpy.load_file("new.safetensors")
    assert numpy.array_equal(written["other.weight"], file["other.weight"])
    for name, values in expected.items():
        assert numpy.array_equal(rewritten(written, name, group), values), name
