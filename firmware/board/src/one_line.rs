//! Panics in one line.

use core::fmt::{self, Display, Write};
use core::panic::PanicInfo;

/// What a panic is told as: `panic: MESSAGE at FILE:LINE`, wherever its message has lines of its own.
#[derive(Debug)]
pub struct Panic<'p>(pub &'p PanicInfo<'p>);

impl Display for Panic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(OneLine(f), "panic: {}", self.0.message())?;
        self.0.location().map_or(Ok(()), |place| write!(OneLine(f), " at {}:{}", place.file(), place.line()))
    }
}

/// What compares values puts them on lines of their own.
struct OneLine<'f, 'o>(&'f mut fmt::Formatter<'o>);

impl Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut pieces = text.split('\n');
        self.0.write_str(pieces.next().unwrap_or_default())?;
        pieces.try_for_each(|piece| write!(self.0, " {}", piece.trim_start()))
    }
}
