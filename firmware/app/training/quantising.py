"""From trained floats to the halves, or the bytes and shifts, that a device has.

In bytes, a pixel is an integer of 0..=16 as it is. Each layer's weights are scaled by what makes the largest 127; its sums are
then the true ones times a known factor, and shifted to the right so far that the largest output for an image of the
training set is at most 127. What is shifted away and clamped is all that is lost.
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
