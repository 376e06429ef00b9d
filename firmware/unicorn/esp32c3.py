"""Runs a program on an emulated ESP32-C3 with an emulated computer at its USB port.

    python esp32c3.py [--partition-table FILE] [--flash ADDRESS=FILE] [--seconds N] PROGRAM

It emulates the processor, the memories, flash with a partition table, and what a program needs that uses
flash, prints and resets: functions in ROM, and registers that it waits for. What the program prints goes to
standard output. The exit code is 0 if the program ends in an empty loop.

Other exit codes: 97 a file cannot be loaded, 98 timeout, 99 a CPU fault.
"""

import argparse
import hashlib
import pathlib
import struct
import sys

import unicorn
from unicorn import riscv_const as riscv

UNLOADABLE, OUT_OF_TIME, FAULT = 97, 98, 99

ROM, ROM_LEN = 0x4000_0000, 0x6_0000
# Flash as the bootloader maps it for constants and for code.
MAPPED_FLASH = [(0x3C00_0000, 8 << 20), (0x4200_0000, 8 << 20)]
# RAM as data and as code see it, and RAM that sleep preserves.
RAM = [(0x3FC8_0000, 0x6_0000), (0x4037_C000, 0x6_4000), (0x5000_0000, 0x2000)]
REGISTERS, REGISTERS_LEN = 0x6000_0000, 0xD_2000

FLASH_LEN, SECTOR = 4 << 20, 4096
PARTITION_TABLE = 0x8000

USB_BYTE = 0x6004_3000
# The registers that do not read as they were last written.
ANSWERS = {
    0x6000_2000: 0,  # the command to the flash is done
    0x6000_2058: 0x16_40C8,  # the flash's identity; its third byte is the size
    0x6001_F068: 1 << 15,  # the slow clock is measured
    0x6004_3004: 1 << 1,  # the USB port takes bytes
    0x6004_3008: 1 << 1,  # a computer is at the USB port
}

ARGUMENTS = [riscv.UC_RISCV_REG_A0, riscv.UC_RISCV_REG_A1, riscv.UC_RISCV_REG_A2, riscv.UC_RISCV_REG_A3]
RETURN = 0x0000_8067
# The ROM's functions for floats, in instructions for floats, which the chip lacks: the same results, faster.
TO_FLOATS, FROM_FLOAT = [0xF005_0553, 0xF005_85D3], [0xE005_0553, RETURN]
FLOATS = {
    "__addsf3": [*TO_FLOATS, 0x00B5_0553, *FROM_FLOAT],
    "__mulsf3": [*TO_FLOATS, 0x10B5_0553, *FROM_FLOAT],
    "__gtsf2": [*TO_FLOATS, 0xA0A5_9553, RETURN],
    "__gesf2": [*TO_FLOATS, 0xA0A5_8553, 0xFFF5_0513, RETURN],
    "__unordsf2": [*TO_FLOATS, 0xA0A5_2553, 0xA0B5_A5D3, 0x00B5_7533, 0x0015_4513, RETURN],
    "__fixsfsi": [0xF005_0553, 0xC005_1553, RETURN],
    "__floatsisf": [0xD005_0553, *FROM_FLOAT],
}
FLOATS_ENABLED = 0x6000
# After the entries of all functions.
ROM_CODE = ROM + 0x4_0000

# An illegal instruction; `csrw`, which writes a register of the processor, with its operands cleared; and
# the registers of watchpoints, which Unicorn lacks: tselect, tdata1, tdata2 and tcontrol.
ILLEGAL, WRITE = 2, 0x1073
OPERANDS = 0xFFF0_0000 | 0x1F << 15
WATCHPOINTS = 0x7A0, 0x7A1, 0x7A2, 0x7A5

# An endless loop that does nothing: `pause`, and a jump back to it.
EMPTY_LOOP = bytes.fromhex("0f000001f5bf")


class Stop(Exception):
    """An end of the run that the program did not request: an exit code and a sentence."""


def segments(elf):
    """Yields the address and the bytes of the loaded segments of an ELF file."""
    if elf[:4] != b"\x7fELF":
        raise Stop(UNLOADABLE, "the program is not an ELF file")
    (table,), (size, count) = struct.unpack_from("<I", elf, 28), struct.unpack_from("<HH", elf, 42)
    for number in range(count):
        kind, offset, _, address, length = struct.unpack_from("<5I", elf, table + size * number)
        if kind == 1 and length > 0:
            yield address, elf[offset : offset + length]


def symbols(elf):
    """Returns the address of every name in an ELF file; the ROM's functions are among them."""
    (table,), (size, count) = struct.unpack_from("<I", elf, 32), struct.unpack_from("<HH", elf, 46)
    sections = [struct.unpack_from("<10I", elf, table + size * number) for number in range(count)]
    found = {}
    for _, kind, _, _, at, length, names, *_ in sections:
        if kind == 2:
            for name, address in struct.iter_unpack("<2I8x", elf[at : at + length]):
                begin = sections[names][4] + name
                found[elf[begin : elf.index(0, begin)].decode()] = address
    return found


def partition_table(text):
    """Returns the partition table for a text with rows of label, type, subtype, offset and size."""
    types, subtypes = {"app": 0, "data": 1}, {"factory": 0, "nvs": 2, "phy": 1, "undefined": 6}
    table = b""
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            label, kind, subtype, offset, size = [word.strip() for word in line.split(",")][:5]
            place = (types[kind], subtypes[subtype], int(offset, 0), int(size, 0))
            table += struct.pack("<2sBBII16sI", b"\xaa\x50", *place, label.encode(), 0)
    return table + b"\xeb\xeb" + b"\xff" * 14 + hashlib.md5(table).digest()


def jump(by):
    """Returns the instruction that jumps by this many bytes."""
    return 0x6F | (by >> 20 & 1) << 31 | (by & 0x7FE) << 20 | (by & 0x800) << 9 | by & 0xF_F000


class Rom:
    """The other functions in ROM. They take the argument registers and return a number."""

    def __init__(self, machine, flash):
        self.machine, self.flash, self.sums = machine, flash, []
        self.functions = {
            "memcpy": self.copy,
            "memmove": self.copy,
            "memset": self.fill,
            "memcmp": self.compare,
            "__udivdi3": lambda low, high, by_low, by_high: (low | high << 32) // (by_low | by_high << 32),
            "esp_rom_spiflash_read": self.read_flash,
            "esp_rom_spiflash_write": self.write_flash,
            "esp_rom_spiflash_erase_sector": self.erase_sector,
            "esp_rom_spiflash_unlock": lambda *_: 0,
            "MD5Init": self.begin_sum,
            "MD5Update": self.add_to_sum,
            "MD5Final": self.end_sum,
            "rtc_get_reset_reason": lambda *_: 1,  # power on
        }
        clocks = ["ets_delay_us", "ets_update_cpu_frequency", "esp_rom_regi2c_read", "rom_i2c_writeReg"]
        for name in [*clocks, "Cache_Invalidate_Addr"]:
            self.functions[name] = lambda *_: 0

    def load(self, address, count):
        return bytes(self.machine.mem_read(address, count))

    def copy(self, to, source, count, _):
        self.machine.mem_write(to, self.load(source, count))
        return to

    def fill(self, to, value, count, _):
        self.machine.mem_write(to, bytes([value & 0xFF]) * count)
        return to

    def compare(self, left, right, count, _):
        left, right = self.load(left, count), self.load(right, count)
        return (left > right) - (left < right)

    def read_flash(self, address, to, count, _):
        if (address | to | count) % 4 != 0 or address + count > FLASH_LEN:
            return 1
        self.machine.mem_write(to, bytes(self.flash[address : address + count]))
        return 0

    def write_flash(self, address, source, count, _):
        if (address | source | count) % 4 != 0 or address + count > FLASH_LEN:
            return 1
        old = self.flash[address : address + count]
        self.flash[address : address + count] = bytes(map(int.__and__, old, self.load(source, count)))
        return 0

    def erase_sector(self, number, *_):
        self.flash[number * SECTOR : (number + 1) * SECTOR] = b"\xff" * SECTOR
        return 0

    def begin_sum(self, context, *_):
        # The number of the sum is in its context, which the program may move.
        self.machine.mem_write(context, struct.pack("<I", len(self.sums)))
        self.sums.append(hashlib.md5())
        return 0

    def sum_of(self, context):
        return self.sums[struct.unpack("<I", self.load(context, 4))[0]]

    def add_to_sum(self, context, data, count, _):
        self.sum_of(context).update(self.load(data, count))
        return 0

    def end_sum(self, digest, context, *_):
        self.machine.mem_write(digest, self.sum_of(context).digest())
        return 0


class Esp32c3:
    """A chip that is ready to run the program."""

    def __init__(self, elf, flash):
        self.machine = machine = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
        self.has_ended, self.fault, self.registers = False, "an exception", {}
        for start, length in [(ROM, ROM_LEN), *MAPPED_FLASH, *RAM]:
            machine.mem_map(start, length)
        machine.mmio_map(REGISTERS, REGISTERS_LEN, self.on_read, None, self.on_write, None)
        machine.reg_write(riscv.UC_RISCV_REG_MSTATUS, FLOATS_ENABLED)
        machine.hook_add(unicorn.UC_HOOK_INTR, lambda _, number, __: self.on_exception(number))
        for address, content in segments(elf):
            machine.mem_write(address, content)
            self.end_at_empty_loops(address, content)
        (self.entry,) = struct.unpack_from("<I", elf, 24)
        reset = {"software_reset": lambda *_: self.end(is_reset=True)}
        self.fill_rom(symbols(elf), Rom(machine, flash).functions | reset)

    def store(self, address, *words):
        self.machine.mem_write(address, struct.pack(f"<{len(words)}I", *words))

    def fill_rom(self, addresses, functions):
        code = ROM_CODE
        for name, words in FLOATS.items():
            if name in addresses:
                self.store(code, *words)
                self.store(addresses[name], jump(code - addresses[name]))
                code += 4 * len(words)
        for name, function in functions.items():
            if name in addresses:
                self.store(addresses[name], RETURN)
                self.on_code(addresses[name], lambda function=function: self.call(function))
        self.in_rom = {address: name for name, address in addresses.items() if ROM <= address < ROM_CODE}

    def end_at_empty_loops(self, address, content):
        at = content.find(EMPTY_LOOP)
        while at >= 0:
            self.on_code(address + at, self.end)
            at = content.find(EMPTY_LOOP, at + 1)

    def on_code(self, address, action):
        self.machine.hook_add(unicorn.UC_HOOK_CODE, lambda *_: action(), begin=address, end=address)

    def end(self, is_reset=False):
        self.has_ended, self.is_reset = True, is_reset
        self.machine.emu_stop()
        return 0

    def call(self, function):
        value = function(*self.machine.reg_read_batch(ARGUMENTS))
        self.machine.reg_write(riscv.UC_RISCV_REG_A0, value & 0xFFFF_FFFF)
        self.machine.reg_write(riscv.UC_RISCV_REG_A1, value >> 32 & 0xFFFF_FFFF)

    def on_read(self, _, offset, __, ___):
        return ANSWERS.get(REGISTERS + offset, self.registers.get(offset, 0))

    def on_write(self, _, offset, __, value, ___):
        self.registers[offset] = value
        if REGISTERS + offset == USB_BYTE:
            sys.stdout.buffer.write(bytes([value & 0xFF]))
            sys.stdout.buffer.flush()

    def on_exception(self, number):
        # Unicorn is already four bytes after the instruction.
        at = self.machine.reg_read(riscv.UC_RISCV_REG_PC) - 4
        if number == ILLEGAL:
            (word,) = struct.unpack("<I", self.machine.mem_read(at, 4))
            if word & ~OPERANDS == WRITE and word >> 20 in WATCHPOINTS:
                return
        self.fault = f"exception {number} at {at:#010x} {self.in_rom.get(at, '')}".rstrip()
        self.machine.emu_stop()

    def run(self, seconds):
        """Runs the program to its end. Returns whether it has reset the chip."""
        self.machine.emu_start(self.entry, 0xFFFF_FFFF, timeout=seconds * 1_000_000)
        if self.machine.query(unicorn.UC_QUERY_TIMEOUT):
            raise Stop(OUT_OF_TIME, f"the program did not end within {seconds} s")
        if not self.has_ended:
            raise Stop(FAULT, f"fault: {self.fault}")
        return self.is_reset


def main():
    options = argparse.ArgumentParser(usage=__doc__.splitlines()[2].strip())
    options.add_argument("--flash", action="append", default=[])
    options.add_argument("--partition-table", type=pathlib.Path, default="partitions.csv")
    options.add_argument("--seconds", type=int, default=250)
    options.add_argument("program", type=pathlib.Path)
    options = options.parse_args()
    flash = bytearray(b"\xff" * FLASH_LEN)
    files = [(PARTITION_TABLE, partition_table(options.partition_table.read_text()))]
    for word in options.flash:
        address, _, path = word.partition("=")
        files.append((int(address, 0), pathlib.Path(path).read_bytes()))
    for address, content in files:
        if address + len(content) > FLASH_LEN:
            raise Stop(UNLOADABLE, f"the flash ends at {FLASH_LEN:#x}")
        flash[address : address + len(content)] = content
    while Esp32c3(options.program.read_bytes(), flash).run(options.seconds):
        pass


try:
    main()
except Stop as stop:
    code, sentence = stop.args
    print(sentence, file=sys.stderr)
    sys.exit(code)
except (OSError, ValueError, unicorn.UcError) as error:
    print(error, file=sys.stderr)
    sys.exit(UNLOADABLE)
