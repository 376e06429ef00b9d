//! Output and exit code through semihosting.

use core::fmt;
use semihosting::sys::arm_compat::{ExitReason, sys_exit_extended, sys_writec};

/// Prints a text.
pub fn print(text: &str) {
    text.bytes().for_each(sys_writec);
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
            sys_writec(digit);
        }
        number %= divisor;
        divisor /= 10;
    }
}

/// Ends the emulator.
pub fn exit(code: u32) -> ! {
    loop {
        sys_exit_extended(ExitReason::ADP_Stopped_ApplicationExit, code as usize);
    }
}
