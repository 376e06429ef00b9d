//! The interface between a pass over a header and the code that feeds it.

use super::scanner::HeaderParser;
use crate::error::Error;

/// The next step of a validation that takes several passes.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a validation may have to start again at byte 0"]
pub enum Progress {
    /// All input is consumed; continue with the bytes after it.
    NeedInput,
    /// Start again at byte 0 of the file.
    Rewind,
    /// The validation is complete and found no error.
    Done,
}

/// A pass over a header, which is fed to it from byte 0 to its end. The error has a method of its own:
/// returned from call to call, it would take stack in each of them.
pub(crate) trait Machine {
    /// Reads `input`, and moves it past the bytes consumed. Returns `None` at the first error, and at every
    /// further call.
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress>;

    /// Returns the parser that reads the header.
    fn parser(&mut self) -> &mut HeaderParser;

    /// Returns the error after a failure.
    fn failure(&mut self) -> Error {
        self.parser().error()
    }

    /// Records that the file ends where the input of the first pass ended, before the end of the header. That
    /// is the error, unless there was one before.
    fn cut_short(&mut self) {
        self.parser().end_pass(true);
    }
}
