"""The handwritten digits that ship with scikit-learn, and the held-out ones."""

import gzip
import importlib.metadata
import pathlib

import numpy as np

INPUTS = 64
CLASSES = 10
BRIGHTEST = 16
# The firmware contains this many of the held-out images, from the first on.
CARRIED = 64


def digits():
    """Returns 1797 images of 8 by 8 pixels of 0..=16, one in each row, and their labels.

    Reads the package's file, as `sklearn.datasets.load_digits` does; importing that would need scipy too.
    """
    package = importlib.metadata.distribution("scikit-learn")
    table = pathlib.Path(package.locate_file("sklearn/datasets/data/digits.csv.gz"))
    with gzip.open(table, "rt") as lines:
        numbers = np.loadtxt(lines, delimiter=",").astype(np.uint8)
    images, labels = numbers[:, :INPUTS], numbers[:, INPUTS]
    assert images.shape == (1797, INPUTS) and images.max() == BRIGHTEST and labels.max() == CLASSES - 1
    return images, labels


def every_fifth(labels, turn):
    """Selects the rows that are the fifth, tenth, … of their digit, or with another turn of 0..=4 the first, sixth, …

    This is a fifth of every digit, chosen independently of the images' contents.
    """
    chosen = np.zeros(len(labels), dtype=bool)
    for digit in range(CLASSES):
        chosen[np.flatnonzero(labels == digit)[turn::5]] = True
    return chosen


def parts():
    """Returns the images and labels for training, and those held out, in order."""
    images, labels = digits()
    held_out = every_fifth(labels, 4)
    return (images[~held_out], labels[~held_out]), (images[held_out], labels[held_out])
