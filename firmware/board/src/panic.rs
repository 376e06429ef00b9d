//! Panics: one line, and the end.

use crate::{Console, Panic, exit};
use core::fmt::Write;
use core::panic::PanicInfo;

const EXIT_CODE: u32 = 101;

#[panic_handler]
fn on_panic(info: &PanicInfo<'_>) -> ! {
    // The console takes everything.
    let _ = writeln!(Console, "{}", Panic(info));
    exit(EXIT_CODE)
}

/// Panics where it is called, as a program with a mistake does: to prove that panics are told.
#[track_caller]
pub fn run_into_a_panic() -> ! {
    panic!("this program does nothing else")
}
