"""Runs a program on an emulated nRF52840 with an emulated debugger.

    python nrf52840.py [--flash ADDRESS=FILE] [--seconds N] PROGRAM

It emulates the processor, flash, RAM, and the few peripherals that a program waits for which only reads
flash. The program's log goes to standard output unchanged, for a decoder of defmt. The program's exit code is
passed on.

This script's own exit codes: 97 a file cannot be loaded, 98 timeout, 99 a CPU fault.
"""

import struct
import sys

import unicorn
from common import FAULT, UNLOADABLE, Chip, Stop, end, parser, placed, segments
from unicorn import arm_const as arm

FLASH, FLASH_LEN = 0, 1 << 20
RAM, RAM_LEN = 0x2000_0000, 256 << 10

# Chip identity, peripherals, ports, and the processor's own registers.
REGISTERS = [(0x1000_0000, 0x2000), (0x4000_0000, 0x40000), (0x5000_0000, 0x1000), (0xE000_0000, 0x100000)]
CHIP_ERRATA = (0xF000_0000, 0x1000)

START_SLOW_CLOCK, SLOW_CLOCK_STARTED = 0x4000_0008, 0x4000_0104
FLASH_READY = 0x4001_E400
DEBUGGER_ATTACHED = 0xE000_EDF0

# Semihosting: the exit call of Arm programs to a debugger.
BREAKPOINT, SEMIHOSTING = 7, 0xBEAB
EXIT_EXTENDED, APPLICATION_EXIT = 0x20, 0x2_0026

# The offsets of the RTT channel's fields after its identifier.
CHANNEL, BUFFER, WRITTEN, READ = b"SEGGER RTT", 28, 36, 40


class Nrf52840(Chip):
    """A chip that is ready to run the program."""

    def __init__(self, elf, files):
        machine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        machine.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
        super().__init__(machine, [(FLASH, FLASH_LEN), (RAM, RAM_LEN), *REGISTERS, CHIP_ERRATA])
        machine.mem_write(FLASH, b"\xff" * FLASH_LEN)
        for address, _, content in segments(elf):
            machine.mem_write(address, content)
        for address, content in files:
            machine.mem_write(address, content)
        for register in [FLASH_READY, DEBUGGER_ATTACHED]:
            self.store(register, 1)
        machine.hook_add(unicorn.UC_HOOK_INTR, lambda _, number, __: self.on_exception(number))
        machine.hook_add(
            unicorn.UC_HOOK_MEM_WRITE,
            lambda *_: self.store(SLOW_CLOCK_STARTED, 1),
            begin=START_SLOW_CLOCK,
            end=START_SLOW_CLOCK,
        )
        self.listen(elf)

    def listen(self, elf):
        """Reads the debugger's channel after each write to it."""
        found = [used_at + data.find(CHANNEL) for _, used_at, data in segments(elf) if CHANNEL in data]
        if len(found) != 1:
            raise Stop(UNLOADABLE, "the program has no channel for a debugger")
        self.channel = found[0]
        written = self.channel + WRITTEN
        on_write = lambda _, __, ___, ____, position, _____: self.on_log(position)
        self.machine.hook_add(unicorn.UC_HOOK_MEM_WRITE, on_write, begin=written, end=written)

    def on_log(self, position):
        buffer, length, _, read = self.load(self.channel + BUFFER, 4)
        if RAM <= buffer < RAM + RAM_LEN and position != read:
            ring = self.machine.mem_read(buffer, length)
            sys.stdout.buffer.write(ring[read:position] if read < position else ring[read:] + ring[:position])
            sys.stdout.buffer.flush()
            self.store(self.channel + READ, position)

    def on_exception(self, number):
        register = self.machine.reg_read
        (instruction,) = struct.unpack("<H", self.machine.mem_read(register(arm.UC_ARM_REG_PC), 2))
        if (number, instruction, register(arm.UC_ARM_REG_R0)) == (BREAKPOINT, SEMIHOSTING, EXIT_EXTENDED):
            reason, code = self.load(register(arm.UC_ARM_REG_R1), 2)
            self.code = code if reason == APPLICATION_EXIT else FAULT
        self.machine.emu_stop()

    def run(self, seconds):
        """Runs the program, and returns its exit code."""
        stack, start = self.load(FLASH, 2)
        self.machine.reg_write(arm.UC_ARM_REG_SP, stack)
        try:
            self.start(start | 1, seconds)
        except unicorn.UcError as error:
            self.fault = str(error)
        if self.code is None:
            raise Stop(FAULT, f"fault: {self.fault} at {self.machine.reg_read(arm.UC_ARM_REG_PC):#010x}")
        return self.code


def main():
    options = parser(__doc__).parse_args()
    files = [placed(word) for word in options.flash]
    return Nrf52840(options.program.read_bytes(), files).run(options.seconds)


end(main)
