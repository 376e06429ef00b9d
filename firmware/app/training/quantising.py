"""Converts trained floats to F16, or to I8 with shifts, for devices.

For I8, pixels stay integers of 0..=16. Each layer's weights are scaled so that the largest is 127. Its sums are then the
exact ones times a known factor, and are shifted to the right so that the largest output for an image of the training set
is at most 127. The only losses are the bits shifted out and clamping.
"""

import numpy as np

from dataset import BRIGHTEST
from learning import forward


def halves(parameters, _images):
    parts = [part.astype("<f2") for part in parameters]
    return [(weights, biases, 0) for weights, biases in zip(parts[::2], parts[1::2])]


def integers(parameters, images):
    given, _ = forward(parameters, images)
    factor = BRIGHTEST
    layers = []
    for number, (weights, biases) in enumerate(zip(parameters[::2], parameters[1::2]), 1):
        scale = 127 / np.abs(weights).max()
        factor *= scale
        largest = factor * given[number].max() if number < len(given) else 0
        shift = max(1, int(np.ceil(np.log2(largest / 127)))) if largest else 0
        layers.append((np.rint(weights * scale).astype(np.int8), np.rint(biases * factor).astype("<i4"), shift))
        factor /= 1 << shift
    return layers
