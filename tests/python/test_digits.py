"""The firmware's networks read held-out digits as well as they claim, and boards compute the logits and products of numpy,
to the last bit."""

import re
import sys

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file
from support import ROOT, run

sys.path.append(str(ROOT / "firmware/app/training"))

import arithmetic  # noqa: E402
from dataset import CARRIED, parts  # noqa: E402
from models import I8, NETWORKS, SUMS, TEST, carried, claims, sums  # noqa: E402

pytestmark = pytest.mark.main

MODEL = re.compile(r"model: .*?\b(\d+) bytes")
DIGIT = re.compile(r"digit (\d+): a (\d), read as (\d), logits((?: [0-9a-f]{8}){10})")
# The output that boards are compared with.
GOLDEN = {str(path.relative_to(ROOT / "firmware")): path.read_text() for path in ROOT.glob("firmware/*/golden/*.txt")}
WITH_DIGITS = [name for name, text in GOLDEN.items() if "\ndigit 63: " in text]
WITH_PRODUCTS = [name for name, text in GOLDEN.items() if "\nproduct of " in text]


def layers_of(network):
    return network.layers(load_file(network.path))


def test_files_are_the_committed_ones():
    assert SUMS.read_text() == sums()
    run("check", *(network.path for network in NETWORKS), TEST)
    found, due = load_file(TEST), carried(*parts()[1])
    assert found.keys() == due.keys()
    assert all(found[name].dtype == part.dtype and np.array_equal(found[name], part) for name, part in due.items())


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.path.stem)
def test_networks_are_as_good_as_they_claim(network):
    layers, held_out = layers_of(network), parts()[1]
    assert network.path.stat().st_size <= network.longest
    assert network.right(layers, *held_out) >= network.least * len(held_out[1])
    with safe_open(network.path, "np") as file:
        metadata = file.metadata()
    assert claims(network, layers, held_out).items() <= metadata.items()


def test_no_image_makes_a_sum_overflow():
    assert arithmetic.most_of_a_sum(layers_of(I8)) < 2**31


@pytest.mark.parametrize("name", WITH_DIGITS)
def test_boards_have_the_logits_of_numpy(name):
    images, labels = (part[:CARRIED] for part in parts()[1])
    (network,) = [network for network in NETWORKS if network.path.stat().st_size == int(MODEL.search(GOLDEN[name])[1])]
    logits = network.logits(layers_of(network), images)
    words = [" ".join(f"{word:08x}" for word in row.view(np.uint32)) for row in logits]
    due = [(str(number), str(label), str(row.argmax()), f" {word}") for number, (label, row, word) in enumerate(zip(labels, logits, words))]
    assert DIGIT.findall(GOLDEN[name]) == due
    assert f"score: {int((logits.argmax(axis=1) == labels).sum())} of {CARRIED} digits read right" in GOLDEN[name].splitlines()


@pytest.mark.parametrize("name", WITH_PRODUCTS)
def test_boards_have_the_products_of_numpy(name):
    """tests/quantised/make.py computes them by numpy."""
    printed = [line for line in GOLDEN[name].splitlines(True) if line.startswith("product ")]
    assert "".join(printed) == (ROOT / "tests/quantised/products.txt").read_text()


def test_boards_print_both():
    assert WITH_DIGITS and WITH_PRODUCTS
