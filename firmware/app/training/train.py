"""Trains the networks of the firmware on handwritten digits, and judges the committed ones.

    pip install --no-deps -r requirements.txt
    python3 train.py --write                    writes ../models anew, over those that are committed
    python3 train.py --validate                 tells how well networks with these settings do, of images for training alone
    python3 train.py --check [--logits FILE]…   judges ../models, and what devices printed

The images are the 1797 of `sklearn.datasets.load_digits`, 8 by 8 pixels of 0..=16: the part of the UCI set "Optical
Recognition of Handwritten Digits" that its authors call the test set. The fifth, tenth, … image of each digit are held
out: the networks are not trained with them, and nothing was chosen by them. What was chosen, in learning.py and
models.py, was chosen by `--validate`, which holds out a fifth of the rest in turn. The accuracy of a network is that
of all held-out images, in the arithmetic of the devices. The same people wrote the digits of both parts, so digits of
other people will be read worse.

Sums of floats depend on the machine and its libraries, so another one trains another network, about as good. The
committed files are what counts: `--check` needs them to be what SHA256SUMS says, to have the accuracy that they claim,
and the images to be scikit-learn's. A FILE is what a device printed, with lines

    model: NAME, 702428 bytes, …
    digit 0: a 5, read as 5, logits bf4e2387 …

whose logits are to be those of the model of this length to the last bit.
"""

import argparse
import os
import sys

# Before numpy is there: with matrices this small, threads only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import check
import container
from dataset import every_fifth, parts
from models import NETWORKS, SUMS, TEST, carried

SOURCE = "scikit-learn's load_digits, the fifth, tenth, ... image of each digit"


def write():
    training, held_out = parts()
    for network in NETWORKS:
        layers = network.trained(*training)
        metadata = check.claims(network, layers, held_out) | {"script": "firmware/app/training/train.py"}
        network.path.write_bytes(container.encoded(network.tensors(layers), metadata))
        print(f"{network.path.name}: {metadata['accuracy']}")
    about = "handwritten digits that no network was trained with: the first of them that are held out"
    TEST.write_bytes(container.encoded(carried(*held_out), {"description": about, "source": SOURCE}))
    SUMS.write_text(check.sums())


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
    ways.add_argument("--check", action="store_true", help="judge the committed models")
    arguments.add_argument("--logits", metavar="FILE", action="append", default=[], help="and what a device printed")
    given = arguments.parse_args()
    if given.logits and not given.check:
        arguments.error("--logits goes with --check")
    if given.check:
        return check.judge(given.logits)
    return validate() if given.validate else write()


if __name__ == "__main__":
    sys.exit(main())
