//! How machines speak with whoever feeds them.

use crate::error::Error;

/// What a check that takes several passes needs next.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a check that asks to be fed from byte 0 again must be"]
pub enum Progress {
    /// All input is consumed; go on with the bytes that follow it.
    NeedInput,
    /// Start again at byte 0 of the file.
    Rewind,
    /// The file passed.
    Done,
}

/// Something that a header is fed to, from byte 0 to its end. Errors are asked for where they are
/// reported: carried up from call to call they would cost the stack of each.
pub(crate) trait Machine {
    /// Reads on, and moves `input` past what it consumed. Nothing when it has failed: at the first
    /// fault, and at every further call.
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress>;

    /// Why it has failed.
    fn error(&self) -> Error;

    /// Takes note that the file ends where the input ended, before the header does: that is its error then,
    /// unless it has failed before.
    fn cut_short(&mut self);

    /// How long the header is, once its first 8 bytes are consumed. Only asked for in a first pass.
    fn header_len(&self) -> Option<u64> {
        None
    }
}
