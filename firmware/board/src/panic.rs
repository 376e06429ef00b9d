//! Panics: prints a line, and exits.

use crate::{Console, Panic, exit};
use core::fmt::Write;
use core::panic::PanicInfo;

const EXIT_CODE: u32 = 101;

#[panic_handler]
fn on_panic(info: &PanicInfo<'_>) -> ! {
    // The console never fails.
    let _ = writeln!(Console, "{}", Panic(info));
    exit(EXIT_CODE)
}

/// Panics at the caller's location, to test that panics are reported.
#[track_caller]
pub fn run_into_a_panic() -> ! {
    panic!("this program does nothing else")
}
