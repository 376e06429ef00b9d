"""Computes the networks' outputs in the arithmetic of the devices, to the last bit.

`numpy.matmul` adds in an unspecified order that differs between computers. Here every sum is added in the order of its
inputs, and each step is rounded as on a device. So the outputs are the same on every computer.
"""

import numpy as np


def floats(layers, images):
    """Computes logits in f32 from weights and biases in F16."""
    values = images.astype(np.float32) / np.float32(16)
    for number, (weights, biases, _) in enumerate(layers, 1):
        sums = np.tile(biases.astype(np.float32), (len(images), 1))
        for column, inputs in zip(weights.astype(np.float32).T, values.T):
            sums += np.outer(inputs, column)
        values = sums if number == len(layers) else np.where(sums < 0, np.float32(0), sums)
    return values


def integers(layers, images):
    """Computes logits in i32 from weights in I8, biases in I32 and a shift in every layer but the last."""
    assert most_of_a_sum(layers) < 2**31
    values = images.astype(np.int64)
    for weights, biases, shift in layers:
        values = values @ weights.astype(np.int64).T + biases
        if shift:
            values = np.clip((values + (1 << (shift - 1))) >> shift, 0, 127)
    return values.astype(np.int32)


def most_of_a_sum(layers):
    """Returns a bound of a layer's sums, for any image and any order of additions."""
    most = [16] + [127] * (len(layers) - 1)
    return max(most_of_a_row(*layer, given) for layer, given in zip(layers, most))


def most_of_a_row(weights, biases, shift, given):
    rounding = 1 << (shift - 1) if shift else 0
    rows = np.abs(weights.astype(np.int64)).sum(axis=1) * given + np.abs(biases.astype(np.int64))
    return int(rows.max()) + rounding
