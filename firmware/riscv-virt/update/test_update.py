"""Runs the program `update` in QEMU, with its flash in a file. PROGRAM is its path."""

import os
import pathlib
import struct
import subprocess

import pytest
from update import PIECE, answer, send

QEMU = "qemu-system-riscv32 -M virt -display none -monitor none -serial stdio -semihosting-config"
FOLDER = pathlib.Path(__file__).parent
FLASH, SECTOR, JOURNAL, SLOTS = 32 << 20, 256 << 10, 768 << 10, 4 << 20
WAITING = "waiting for an offer"
BUILT_IN = ["built-in model: the sum is 1250 thousandths", WAITING]


def model(counter, header_len):
    """Returns an offer and its model, whose sum is the counter."""
    header = b'{"fc.bias":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}'.ljust(header_len)
    file = struct.pack("<Q", header_len) + header + struct.pack("<3f", counter, 0, 0)
    return (FOLDER / f"{counter}.offer").read_bytes(), file


FIRST, LONG = model(1, 64), model(2, SECTOR + 64)
FORGED = FIRST[0][:64] + bytes(64)
OTHER = (FOLDER / "../../minimal-esp/model.offer").read_bytes()


class Device:
    """A device with flash in a file, and the port to it."""

    def __init__(self, flash):
        self.flash, self.qemu = flash, None
        flash.write_bytes(b"\xff" * FLASH)

    def start(self):
        """Starts the device again. Returns what it says until it waits, or needs a reset."""
        self.cut_power()
        drive = f"if=pflash,unit=1,format=raw,file={self.flash}"
        words = [*QEMU.split(), "enable=on,target=native", "-drive", drive, "-bios", os.environ["PROGRAM"]]
        self.qemu = subprocess.Popen(words, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.write, self.readline, said = self.qemu.stdin.write, self.qemu.stdout.readline, [None]
        while said[-1] not in (WAITING, "reset", ""):
            said.append(self.readline().decode().strip())
        return said[1:]

    def cut_power(self):
        if self.qemu:
            self.qemu.kill()
            self.qemu.communicate()

    def install(self, offer, file):
        """Sends a model, and starts again. The exit code is not 0 if the program has needed too much RAM."""
        assert (send(self, offer, file), self.qemu.wait()) == ("verified", 0)
        return self.start()


@pytest.fixture
def device(tmp_path):
    device = Device(tmp_path / "nor.img")
    assert device.start() == BUILT_IN
    yield device
    device.cut_power()
    device.flash.unlink()


def runs(counter, *more):
    return [f"installed model: the sum is {counter}000 thousandths", *more, WAITING]


def test_a_download_goes_on_after_a_power_cut(device):
    assert device.install(*FIRST) == runs(1, "confirmed")
    offer, file = LONG
    assert answer(device, offer) == "send from byte 0"
    for at in range(0, SECTOR, PIECE):
        answer(device, file[at : at + PIECE])
    assert device.start() == runs(1)
    assert answer(device, offer) == f"send from byte {SECTOR}"
    assert device.install(offer, file) == runs(2, "confirmed")
    assert device.start() == runs(2)
    assert answer(device, FIRST[0]) == "error: counter 1 is lower than 2"


def test_wrong_offers_and_models_are_refused(device):
    assert answer(device, FORGED) == "error: no key of this device signed the offer"
    assert answer(device, OTHER) == "error: the offer is for another class of devices"
    assert send(device, FIRST[0], LONG[1]) == "error: the offer is for a model of another length"
    assert answer(device, LONG[0]) == "send from byte 0"
    assert "sum" in send(device, FIRST[0], FIRST[1][:-1] + b"?")
    assert device.install(*FIRST) == runs(1, "confirmed")


@pytest.mark.parametrize("begin", [None, JOURNAL, 0], ids=["models", "both slots", "slots and journal"])
def test_invalid_models(device, begin):
    """Install models at run time; the firmware must boot even if every user-installed model is invalid."""
    offer, file = FIRST
    device.install(offer, file)
    assert send(device, offer, file) == "verified"
    device.cut_power()
    content = device.flash.read_bytes()
    if begin is None:
        content = content.replace(file, file[:-1] + b"?")
    else:
        content = content[:begin] + b"\x5a" * (SLOTS - begin) + content[SLOTS:]
    device.flash.write_bytes(content)
    for _ in range(0 if begin == 0 else 3):
        assert device.start()[1:] == ["reset"]
    assert device.start()[-2:] == BUILT_IN
    assert device.install(offer, file) == runs(1, "confirmed")
