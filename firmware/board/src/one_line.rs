//! Formats panics on one line.

use core::fmt::{self, Display, Write};
use core::panic::PanicInfo;

/// Formats a panic as `panic: MESSAGE at FILE:LINE`, on one line even if its message has several.
#[derive(Debug)]
pub struct Panic<'p>(pub &'p PanicInfo<'p>);

impl Display for Panic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(OneLine(f), "panic: {}", self.0.message())?;
        self.0
            .location()
            .map_or(Ok(()), |location| write!(OneLine(f), " at {}:{}", location.file(), location.line()))
    }
}

/// Joins lines: failed assertions print values on their own lines.
struct OneLine<'f, 'o>(&'f mut fmt::Formatter<'o>);

impl Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut pieces = text.split('\n');
        self.0.write_str(pieces.next().unwrap_or_default())?;
        pieces.try_for_each(|piece| write!(self.0, " {}", piece.trim_start()))
    }
}
