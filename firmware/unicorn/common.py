"""What all emulated chips need: programs and files to load, memory, and how a run ends."""

import argparse
import pathlib
import struct
import sys

import unicorn

UNLOADABLE, OUT_OF_TIME, FAULT = 97, 98, 99


class Stop(Exception):
    """An end of the run that the program did not request: an exit code and a sentence."""


def segments(elf):
    """Yields the loaded segments of an ELF file: load address, run-time address, and bytes."""
    if elf[:4] != b"\x7fELF":
        raise Stop(UNLOADABLE, "the program is not an ELF file")
    (table,), (size, count) = struct.unpack_from("<I", elf, 28), struct.unpack_from("<HH", elf, 42)
    for number in range(count):
        kind, offset, used_at, address, length = struct.unpack_from("<5I", elf, table + size * number)
        if kind == 1 and length > 0:
            yield address, used_at, elf[offset : offset + length]


def placed(word):
    """Parses ADDRESS=FILE, a file for the flash; returns its address and its bytes."""
    address, _, path = word.partition("=")
    try:
        return int(address, 0), pathlib.Path(path).read_bytes()
    except ValueError:
        raise Stop(UNLOADABLE, f"ADDRESS=FILE is expected, not {word}") from None


class Chip:
    """A chip with memory, and nothing in it."""

    def __init__(self, machine, memory):
        self.machine, self.code, self.fault = machine, None, "an exception"
        for start, length in memory:
            machine.mem_map(start, length)

    def load(self, address, count=1):
        return struct.unpack(f"<{count}I", self.machine.mem_read(address, 4 * count))

    def store(self, address, *words):
        self.machine.mem_write(address, struct.pack(f"<{len(words)}I", *words))

    def start(self, address, seconds):
        """Runs the program from this address to its end."""
        self.machine.emu_start(address, 0xFFFF_FFFF, timeout=seconds * 1_000_000)
        if self.machine.query(unicorn.UC_QUERY_TIMEOUT):
            raise Stop(OUT_OF_TIME, f"the program did not end within {seconds} s")


def parser(page):
    """Returns a parser of the options that all scripts have, whose usage is the third line of this text."""
    parser = argparse.ArgumentParser(usage=page.splitlines()[2].strip())
    parser.add_argument("--flash", action="append", default=[])
    parser.add_argument("--seconds", type=int, default=250)
    parser.add_argument("program", type=pathlib.Path)
    return parser


def end(main):
    """Ends this script with the exit code that `main` returns, or with an error's."""
    try:
        sys.exit(main())
    except Stop as stop:
        code, sentence = stop.args
        print(sentence, file=sys.stderr)
        sys.exit(code)
    except (OSError, unicorn.UcError) as error:
        print(error, file=sys.stderr)
        sys.exit(UNLOADABLE)
