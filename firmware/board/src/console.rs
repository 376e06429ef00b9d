//! Output and exit code through semihosting.

use core::arch::asm;
use core::fmt;

const WRITE_CHARACTER: usize = 0x03;
const EXIT_EXTENDED: usize = 0x20;
const APPLICATION_EXIT: usize = 0x2_0026;

/// Prints a text.
pub fn print(text: &str) {
    for byte in text.as_bytes() {
        call(WRITE_CHARACTER, (&raw const *byte).addr());
    }
}

/// Prints text while it is formatted.
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        print(text);
        Ok(())
    }
}

/// Prints a number in decimal, without the formatting machinery of `core`.
pub fn print_number(mut number: u32) {
    let mut divisor = 1_000_000_000u32;
    let mut leading = true;
    while divisor > 0 {
        let digit = (b'0'..=b'9').nth((number / divisor) as usize).unwrap_or(b'?');
        leading &= digit == b'0' && divisor > 1;
        if !leading {
            call(WRITE_CHARACTER, (&raw const digit).addr());
        }
        number %= divisor;
        divisor /= 10;
    }
}

/// Ends the emulator.
pub fn exit(code: u32) -> ! {
    let block = [APPLICATION_EXIT, code as usize];
    loop {
        call(EXIT_EXTENDED, block.as_ptr().addr());
    }
}

#[cfg(target_arch = "arm")]
fn call(operation: usize, parameter: usize) {
    // SAFETY: a breakpoint that the debugger handles; it reads the memory at `parameter`.
    unsafe { asm!("bkpt 0xab", inout("r0") operation => _, in("r1") parameter, options(nostack)) };
}

#[cfg(target_arch = "riscv32")]
fn call(operation: usize, parameter: usize) {
    // SAFETY: as above; the three instructions must be uncompressed and in one page.
    unsafe {
        asm!(
            ".option push", ".option norvc", ".balign 16",
            "slli x0, x0, 0x1f", "ebreak", "srai x0, x0, 7",
            ".option pop",
            inout("a0") operation => _, in("a1") parameter, options(nostack)
        );
    }
}
