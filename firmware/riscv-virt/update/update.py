"""Sends a model to the program `update` of riscv-virt: python update.py PORT OFFER MODEL.

PORT is a serial port whose speed is set, or the terminal that QEMU prints with `-serial pty`. OFFER is what
`safetensors sign` has written for MODEL. A transfer that was interrupted goes on; `update.py PORT --abandon`
makes the device forget it, so that another model can be sent.
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


def main(path, *words):
    """Returns the last line to print."""
    with open(path, "r+b", buffering=0) as port:
        tty.setraw(port)
        if words == ("--abandon",):
            return answer(port, b"")
        return send(port, *(pathlib.Path(word).read_bytes() for word in words))


if __name__ == "__main__":
    if len(sys.argv) != 4 and sys.argv[2:] != ["--abandon"]:
        sys.exit("usage: update.py PORT OFFER MODEL, or update.py PORT --abandon")
    try:
        print(main(*sys.argv[1:]))
    except OSError as error:
        sys.exit(str(error))
