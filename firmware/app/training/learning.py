"""Trains a multi-layer perceptron with numpy: Adam, He's initialisation, and images that are moved slightly each time."""

from dataclasses import dataclass

import numpy as np

SIDE = 8


@dataclass
class Settings:
    """The settings for training. The spreads of `moved` are in radians, pixels, and parts of the size and of the brightness."""

    epochs: int
    rate: float = 0.002
    batch: int = 64
    decay: float = 0.01
    smoothing: float = 0.05
    turn: float = 0.08
    shift: float = 0.3
    size: float = 0.05
    shear: float = 0.05
    noise: float = 0.03
    seed: int = 1


def start(widths, dice):
    """Returns random weights, drawn as by He et al. for rectified layers, and biases of zero."""
    pairs = list(zip(widths, widths[1:]))
    weights = [dice.normal(0, np.sqrt(2 / inputs), (outputs, inputs)) for inputs, outputs in pairs]
    return [part.astype(np.float32) for w in weights for part in (w, np.zeros(len(w)))]


def forward(parameters, inputs):
    """Returns the inputs of every layer, and the logits."""
    given = []
    for weights, biases in zip(parameters[::2], parameters[1::2]):
        given.append(inputs)
        outputs = inputs @ weights.T + biases
        inputs = np.maximum(outputs, 0)
    return given, outputs


def gradients(parameters, images, targets):
    """Returns the gradients of the mean cross entropy, in the order of the parameters."""
    given, logits = forward(parameters, images)
    error = (softmax(logits) - targets) / len(images)
    found = []
    for weights, inputs in zip(parameters[-2::-2], given[::-1]):
        found += [error.sum(axis=0), error.T @ inputs]
        error = (error @ weights) * (inputs > 0)
    return found[::-1]


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


class Adam:
    """Adam by Kingma and Ba, with decoupled weight decay."""

    def __init__(self, parameters, decay):
        self.means = [np.zeros_like(part) for part in parameters]
        self.squares = [np.zeros_like(part) for part in parameters]
        self.decay = decay
        self.steps = 0

    def step(self, parameters, gradients, rate):
        self.steps += 1
        rate_now = rate * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for part, gradient, mean, square in zip(parameters, gradients, self.means, self.squares):
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            part *= 1 - rate * self.decay
            part -= (rate_now * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)


def moved(images, dice, settings):
    """Rotates, scales and shifts each image slightly, with interpolation, and adds noise."""
    count = len(images)
    angle, x, y = (dice.normal(0, spread, (count, 1)) for spread in (settings.turn, settings.shift, settings.shift))
    size, shear = (dice.normal(0, spread, (count, 1)) for spread in (settings.size, settings.shear))
    row, column = (axis.reshape(1, -1) - (SIDE - 1) / 2 for axis in np.mgrid[:SIDE, :SIDE])
    sine, cosine = np.sin(angle) * np.exp(size), np.cos(angle) * np.exp(size)
    rows = cosine * row + (sine + shear) * column + y + (SIDE - 1) / 2
    columns = cosine * column - sine * row + x + (SIDE - 1) / 2
    found = between(images.reshape(count, SIDE, SIDE), rows, columns)
    return np.clip(found + dice.normal(0, settings.noise, found.shape), 0, 1).astype(np.float32)


def between(images, rows, columns):
    """Interpolates bilinearly, with zeros beyond the border."""
    framed = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    rows, columns = (np.clip(place + 1, 0, SIDE + 0.999) for place in (rows, columns))
    top, left = rows.astype(int), columns.astype(int)
    down, right = rows - top, columns - left
    each = np.arange(len(images)).reshape(-1, 1)
    upper = framed[each, top, left] * (1 - right) + framed[each, top, left + 1] * right
    lower = framed[each, top + 1, left] * (1 - right) + framed[each, top + 1, left + 1] * right
    return upper * (1 - down) + lower * down


def train(widths, images, labels, settings):
    """Returns the trained weights and biases, alternating."""
    dice = np.random.default_rng(settings.seed)
    parameters = start(widths, dice)
    optimiser = Adam(parameters, settings.decay)
    wanted = np.eye(widths[-1], dtype=np.float32) * (1 - settings.smoothing)
    wanted += np.float32(settings.smoothing / widths[-1])
    for epoch in range(settings.epochs):
        rate = settings.rate * 0.5 * (1 + np.cos(np.pi * epoch / settings.epochs))
        for batch in np.array_split(dice.permutation(len(images)), len(images) // settings.batch):
            inputs = moved(images[batch], dice, settings)
            optimiser.step(parameters, gradients(parameters, inputs, wanted[labels[batch]]), rate)
    return parameters
