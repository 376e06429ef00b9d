"""Trains the networks of the firmware on handwritten digits. tests/python/test_digits.py checks the committed ones.

    pip install --no-deps -r ../../../tests/python/requirements/main.txt
    python3 train.py --write        replaces the committed ../models
    python3 train.py --validate     evaluates the settings on training images only

The images are the 1797 of `sklearn.datasets.load_digits`, 8 by 8 pixels of 0..=16: the part of the UCI set "Optical
Recognition of Handwritten Digits" that its authors call the test set. The fifth, tenth, … image of each digit are held
out: they are used neither for training nor for choosing settings. The settings in learning.py and models.py were chosen
with `--validate`, which holds out a fifth of the rest in turn. The accuracy of a network is measured on all held-out
images, in the arithmetic of the devices. The same people wrote the digits of both parts, so other people's digits will be
read worse.

Sums of floats depend on the computer and its libraries, so another computer trains a different network of similar
accuracy. The committed files are authoritative.
"""

import argparse
import os

# Set before numpy is imported: with such small matrices, threads only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from safetensors.numpy import save_file

from dataset import every_fifth, parts
from models import NETWORKS, SUMS, TEST, carried, claims, sums

SOURCE = "scikit-learn's load_digits, the fifth, tenth, ... image of each digit"


def write():
    training, held_out = parts()
    for network in NETWORKS:
        layers = network.trained(*training)
        metadata = claims(network, layers, held_out) | {"script": "firmware/app/training/train.py"}
        save_file(network.tensors(layers), network.path, metadata)
        print(f"{network.path.name}: {metadata['accuracy']}")
    about = "handwritten digits that no network was trained with: the first of them that are held out"
    save_file(carried(*held_out), TEST, {"description": about, "source": SOURCE})
    SUMS.write_text(sums())


def validate():
    (images, labels), _ = parts()
    for network in NETWORKS:
        wrong, of = [], 0
        for turn in range(5):
            judged = every_fifth(labels, turn)
            layers = network.trained(images[~judged], labels[~judged])
            wrong.append(judged.sum() - network.right(layers, images[judged], labels[judged]))
            of += judged.sum()
        print(f"{network.path.name}: {100 - 100 * sum(wrong) / of:.2f} % right; wrong: {', '.join(map(str, wrong))}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ways = arguments.add_mutually_exclusive_group(required=True)
    ways.add_argument("--write", action="store_true", help="train the networks, and write them over the committed ones")
    ways.add_argument("--validate", action="store_true", help="how well such networks do, of images for training")
    if arguments.parse_args().validate:
        validate()
    else:
        write()


if __name__ == "__main__":
    main()
