// Runs a program on an emulated RP2040. The output of UART0 is printed; the last breakpoint's number is the exit code.
//
//     node run.mjs [--flash ADDRESS=FILE] [--seconds N] PROGRAM
//
// The flash is erased, except for the program and the files.
// This script's own exit codes: 97 a file cannot be loaded, 98 timeout, 99 a CPU fault.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { RP2040 } from 'rp2040js';

const FLASH = 0x10000000;
const VECTORS = 0x10000100; // after the boot loader

const UNLOADABLE = 97;
const OUT_OF_TIME = 98;
const FAULT = 99;

const NANOSECONDS = 8; // per cycle, at 125 MHz
const INSTRUCTIONS = 1_000_000; // between two checks of the time limit

/** An end of the run that is not the program's own. */
class Stop extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** A fault shows in the emulator as a warning of the memory or the processor; it would go on. */
class Faults {
  constructor(chip) {
    this.chip = chip;
  }

  warn(part, message) {
    if (part === 'RP2040' || part === 'CortexM0Core') this.error(part, message);
  }

  error(_, message) {
    throw new Stop(FAULT, `fault: ${message} at 0x${hex(this.chip.core.PC)}`);
  }

  debug() {}

  info() {}
}

const hex = (number) => (number >>> 0).toString(16).padStart(8, '0');

/** The parts of an ELF file that lie in flash, and where. */
function* segments(elf) {
  if (elf.readUInt32BE(0) !== 0x7f454c46) throw new Stop(UNLOADABLE, 'the program is not an ELF file');
  const [table, size, count] = [elf.readUInt32LE(28), elf.readUInt16LE(42), elf.readUInt16LE(44)];
  for (let at = table; at < table + size * count; at += size) {
    const [kind, offset, , address, length] = [0, 4, 8, 12, 16].map((field) => elf.readUInt32LE(at + field));
    if (kind === 1 && length > 0) yield [address, elf.subarray(offset, offset + length)];
  }
}

/** Parses ADDRESS=FILE, a file for the flash; returns its address and its bytes. */
function placed(word) {
  const [, address, file] = /^(0x[0-9a-f]+)=(.+)$/i.exec(word) ?? [];
  if (!file) throw new Stop(UNLOADABLE, `ADDRESS=FILE is expected, not ${word}`);
  return [Number(address), readFileSync(file)];
}

/** Creates a chip that is ready to run the program. */
function load(program, files) {
  const chip = new RP2040();
  chip.logger = new Faults(chip);
  for (const [address, bytes] of [...segments(readFileSync(program)), ...files.map(placed)]) {
    chip.flash.set(bytes, address - FLASH);
  }
  // Does what the boot loader does.
  chip.core.VTOR = VECTORS;
  chip.core.SP = chip.readUint32(VECTORS);
  chip.core.PC = chip.readUint32(VECTORS + 4) & ~1;
  return chip;
}

/** Runs to the first breakpoint, and returns its number. */
function run(chip, seconds) {
  let code;
  chip.uart[0].onByte = (byte) => process.stdout.write(Uint8Array.of(byte));
  chip.onBreak = (number) => {
    // Undefined instructions, which programs use to abort, end here too.
    if (chip.readUint16(chip.core.PC - 2) >>> 8 !== 0xbe) chip.logger.error('CortexM0Core', 'an undefined instruction');
    code = number;
  };
  for (const end = Date.now() + seconds * 1000; code === undefined; ) {
    if (Date.now() > end) throw new Stop(OUT_OF_TIME, `the program did not end within ${seconds} s`);
    for (let left = INSTRUCTIONS; left > 0 && code === undefined; left--) {
      if (chip.core.waiting) chip.logger.error('CortexM0Core', 'asleep, with nothing to wake it');
      chip.clock.tick(chip.core.executeInstruction() * NANOSECONDS);
    }
  }
  return code;
}

try {
  const options = {
    flash: { type: 'string', multiple: true, default: [] },
    seconds: { type: 'string', default: '120' },
  };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (positionals.length !== 1) throw new Stop(UNLOADABLE, 'one program is expected');
  process.exitCode = run(load(positionals[0], values.flash), Number(values.seconds));
} catch (error) {
  console.error(error.message);
  process.exitCode = error instanceof Stop ? error.code : UNLOADABLE;
}
