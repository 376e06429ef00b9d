"""Checks the committed models, and the output of devices."""

import hashlib
import pathlib
import re

import numpy as np

import arithmetic
import container
from dataset import CARRIED, parts
from models import I8, NETWORKS, SUMS, TEST, carried

MODEL = re.compile(r"model: .*?\b(\d+) bytes")
DIGIT = re.compile(r"digit (\d+): a (\d), read as (\d), logits((?: [0-9a-f]{8}){10})")


class Wrong(Exception):
    """An error, as a sentence."""


def judge(devices):
    """Runs the checks, and returns the exit code."""
    try:
        for sentence in sentences(devices):
            print(sentence)
    except Wrong as wrong:
        print(f"wrong: {wrong}")
        return 1
    return 0


def sentences(devices):
    """Yields a sentence for each check that passes."""
    need(SUMS.read_text() == sums(), f"the models are not those of {SUMS.name}")
    _, held_out = parts()
    check_images(held_out)
    models = {}
    for network in NETWORKS:
        file = network.path.read_bytes()
        layers, sentence = check_model(network, file, held_out)
        models[len(file)] = (network, network.logits(layers, held_out[0][:CARRIED]))
        yield sentence
    yield sums_fit()
    for path in devices:
        yield check_device(path, models, held_out[1][:CARRIED])


def need(true, sentence):
    if not true:
        raise Wrong(sentence)


def sums():
    """Checks the files against SHA256SUMS."""
    paths = [network.path for network in NETWORKS] + [TEST]
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)


def check_images(held_out):
    found, _ = container.decoded(TEST.read_bytes())
    due = carried(*held_out)
    need(found.keys() == due.keys(), f"{TEST.name} has the tensors {', '.join(found)}")
    for name, tensor in due.items():
        same = found[name].dtype == tensor.dtype and np.array_equal(found[name], tensor)
        need(same, f"the {name} are not the first that are held out")


def check_model(network, file, held_out):
    """Returns the layers, and a sentence about them."""
    name = network.path.name
    tensors, metadata = container.decoded(file)
    layers = network.layers(tensors)
    need(len(file) <= network.longest, f"{name} has {len(file)} bytes")
    images, labels = held_out
    part = network.right(layers, images, labels) / len(labels)
    need(part >= network.least, f"{name} reads {part:.2%} right; {network.least:.0%} are the least")
    claimed = claims(network, layers, held_out)
    need(claimed.items() <= metadata.items(), f"{name} claims {metadata}, but it is {claimed}")
    here = network.right(layers, images[:CARRIED], labels[:CARRIED])
    return layers, f"{name}: {metadata['accuracy']}; {here} of the {CARRIED} that devices have"


def sums_fit():
    """Checks that no image makes a sum of the network of integers overflow."""
    tensors, _ = container.decoded(I8.path.read_bytes())
    most = arithmetic.most_of_a_sum(I8.layers(tensors))
    need(most < 2**31, f"sums of {I8.path.name} may get to {most}")
    return f"{I8.path.name}: no image makes a sum of more than {most}"


def claims(network, layers, held_out):
    """Checks the file's metadata."""
    images, labels = held_out
    right = network.right(layers, images, labels)
    widths = " to ".join(map(str, network.widths))
    accuracy = f"{100 * right / len(labels):.2f} % right, {right} of {len(labels)} held-out images"
    return {"accuracy": accuracy, "description": f"reads handwritten digits of 8 by 8 pixels; {widths}, ReLU between"}


def check_device(path, models, labels):
    """Checks that a device's lines are about all images in order, with the model's logits."""
    text = pathlib.Path(path).read_text()
    model = MODEL.search(text)
    need(model, f"{path} does not say of which model it is")
    need(int(model[1]) in models, f"{path} is of a model of {model[1]} bytes, which is none of these")
    network, logits = models[int(model[1])]
    found = DIGIT.findall(text)
    need([int(number) for number, *_ in found] == list(range(CARRIED)), f"{path} has not all digits once and in order")
    for (number, label, read, words), due, shown in zip(found, logits, labels):
        said = f"{path}: digit {number}"
        need(int(label) == shown, f"{said} shows a {shown}")
        need(int(read) == due.argmax(), f"{said} is to be read as {due.argmax()}")
        need(words.split() == bits(due), f"{said} has the logits{words}, not {' '.join(bits(due))}")
    score = f"score: {int((logits.argmax(axis=1) == labels).sum())} of {CARRIED} digits read right"
    need(score in text.splitlines(), f"{path} does not say {score!r}")
    return f"{path}: {CARRIED} digits, their logits those of {network.path.name} to the last bit"


def bits(logits):
    return [f"{word:08x}" for word in logits.view(np.uint32)]
