//! Panics: one line, and the end.

use crate::{Console, exit};
use core::fmt::{self, Write};
use core::panic::PanicInfo;

const EXIT_CODE: u32 = 101;

#[panic_handler]
fn on_panic(info: &PanicInfo<'_>) -> ! {
    // The console takes everything.
    let _ = write!(OneLine, "panic: {}", info.message());
    if let Some(place) = info.location() {
        let _ = write!(OneLine, " at {}:{}", place.file(), place.line());
    }
    crate::print("\n");
    exit(EXIT_CODE)
}

/// What compares values puts them on lines of their own.
struct OneLine;

impl fmt::Write for OneLine {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut pieces = text.split('\n');
        Console.write_str(pieces.next().unwrap_or_default())?;
        pieces.try_for_each(|piece| write!(Console, " {}", piece.trim_start()))
    }
}
