"""The two networks and their test images: how they are made, and the layout of their files."""

import hashlib
import pathlib
from dataclasses import dataclass
from typing import Callable

import numpy as np

import arithmetic
import quantising
from dataset import BRIGHTEST, CARRIED
from learning import Settings, train

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "models"


@dataclass
class Network:
    """A network. Its layers are triples of weights, biases and a shift, which is 0 if there is none."""

    path: pathlib.Path
    widths: list
    settings: Settings
    # The dtypes of weights and biases, and the layers with a shift.
    dtypes: tuple
    shifted: tuple
    # Functions from trained floats to layers, and from layers and images to logits.
    made: Callable
    logits: Callable
    # The minimum accuracy on held-out images, and the maximum size of the file.
    least: float
    longest: int

    def trained(self, images, labels):
        inputs = (images / BRIGHTEST).astype(np.float32)
        return self.made(train(self.widths, inputs, labels, self.settings), inputs)

    def right(self, layers, images, labels):
        """Counts the images that are read right. The first of equal logits counts, as on a device."""
        return int((self.logits(layers, images).argmax(axis=1) == labels).sum())

    def tensors(self, layers):
        """Returns the tensors by their names in the file."""
        found = {}
        for number, (weights, biases, shift) in enumerate(layers, 1):
            found |= {f"fc{number}.weight": weights, f"fc{number}.bias": biases}
            if shift:
                found[f"fc{number}.shift"] = np.array([shift], "<i4")
        return found

    def layers(self, tensors):
        """Returns the layers from the file's tensors, which must be exactly the network's."""
        found = {name: (part.dtype, part.shape) for name, part in tensors.items()}
        if found != self.expected():
            raise ValueError(f"{self.path.name} has the tensors {found}, not {self.expected()}")
        names = [f"fc{number}" for number in range(1, len(self.widths))]
        return [tuple(tensors[f"{n}.{part}"] for part in ("weight", "bias")) + (shift(tensors, n),) for n in names]

    def expected(self):
        weight, bias = map(np.dtype, self.dtypes)
        found = {f"fc{number}.shift": (np.dtype("<i4"), (1,)) for number in self.shifted}
        for number, (inputs, outputs) in enumerate(zip(self.widths, self.widths[1:]), 1):
            found |= {f"fc{number}.weight": (weight, (outputs, inputs)), f"fc{number}.bias": (bias, (outputs,))}
        return found


def shift(tensors, name):
    return int(tensors.get(f"{name}.shift", [0])[0])


F16 = Network(
    FOLDER / "digits-f16.safetensors", [64, 400, 400, 400, 10], Settings(epochs=60), ("<f2", "<f2"), (),
    quantising.halves, arithmetic.floats, 0.97, 720_000,
)  # fmt: skip
I8 = Network(
    FOLDER / "digits-i8.safetensors", [64, 200, 200, 10], Settings(epochs=120), ("i1", "<i4"), (1, 2),
    quantising.integers, arithmetic.integers, 0.96, 60_000,
)  # fmt: skip
NETWORKS = [F16, I8]
TEST = FOLDER / "digits-test.safetensors"
SUMS = FOLDER / "SHA256SUMS"


def carried(images, labels):
    """Returns the tensors of digits-test.safetensors: the first of the held-out images."""
    return {"images": images[:CARRIED], "labels": labels[:CARRIED]}


def sums():
    """Returns what SHA256SUMS is to say."""
    paths = [network.path for network in NETWORKS] + [TEST]
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)


def claims(network, layers, held_out):
    """Returns what the file's metadata says of the network."""
    images, labels = held_out
    right = network.right(layers, images, labels)
    widths = " to ".join(map(str, network.widths))
    accuracy = f"{100 * right / len(labels):.2f} % right, {right} of {len(labels)} held-out images"
    return {"accuracy": accuracy, "description": f"reads handwritten digits of 8 by 8 pixels; {widths}, ReLU between"}
