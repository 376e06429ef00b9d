"""Sends a model to the program `update` of riscv-virt: python update.py PORT OFFER MODEL.

PORT is a serial port whose speed is set, or the terminal that QEMU prints with `-serial pty`. OFFER is what
`safetensors sign` has written for MODEL. A transfer that was interrupted goes on.
"""

import pathlib
import sys
import tty

PIECE = 120  # fewer bytes than an offer has
SEND = "send from byte "


def answer(port, data):
    """Sends a line, and returns the answer. Lines before it are about the device's start."""
    try:
        port.write(data.hex().encode() + b"\n")
        while line := port.readline().decode(errors="replace").strip():
            if line.startswith((SEND, "verified", "error")):
                return line
    except OSError:
        pass
    return "the device has stopped"


def send(port, offer, model):
    """Sends a model. Returns the last answer: `verified`, or an error. Prints one for each 64 KiB."""
    if int.from_bytes(offer[24:28], "little") != len(model):
        return "error: the offer is for a model of another length"
    line = answer(port, offer)
    while line.startswith(SEND):
        at = int(line.removeprefix(SEND))
        if at % (64 << 10) < PIECE:
            print(line)
        line = answer(port, model[at : at + PIECE])
    return line


def main(path, offer, model):
    """Returns the last line to print."""
    with open(path, "r+b", buffering=0) as port:
        tty.setraw(port)
        return send(port, pathlib.Path(offer).read_bytes(), pathlib.Path(model).read_bytes())


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: update.py PORT OFFER MODEL")
    try:
        last = main(*sys.argv[1:])
    except OSError as error:
        sys.exit(str(error))
    print(last)
    sys.exit(last != "verified")
