//! The header parser: bytes in, events out.

pub(crate) mod entry;
mod machine;
mod members;
mod number;
mod skip;
mod strings;
mod text;

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
pub use machine::HeaderParser;
pub use text::Text;

/// What the parser saw.
///
/// A top-level name streams as [`Name`](Self::Name) pieces, then [`Tensor`](Self::Tensor) or
/// [`Metadata`](Self::Metadata) tells what it named. A tensor's members follow in the file's order,
/// each exactly once, and [`TensorEnd`](Self::TensorEnd) closes it. An empty name has no pieces.
///
/// *Memory*: 24 bytes, `Copy`; text borrows from the input of the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'i> {
    /// All input is consumed; call again with more.
    NeedInput,
    /// The first 8 bytes: how long the header is.
    Length(u64),
    /// A piece of a top-level name.
    Name(Text<'i>),
    /// The name is complete and names a tensor, whose entry follows.
    Tensor,
    /// The name is complete and is `__metadata__`.
    Metadata,
    /// The tensor's element type.
    Dtype(Dtype),
    /// The tensor's shape begins; its dimensions follow.
    Shape,
    /// One dimension, outermost first. Any number of them may come.
    Dim(u64),
    /// The tensor's first offset.
    Begin(u64),
    /// The tensor's second offset.
    End(u64),
    /// The tensor's entry is complete: dtype, shape and both offsets have been seen.
    TensorEnd,
    /// `__metadata__` is null, which means that there is none.
    MetadataNull,
    /// A piece of a key of `__metadata__`.
    Key(Text<'i>),
    /// The key is complete; its value follows.
    KeyEnd,
    /// A piece of a value of `__metadata__`.
    Value(Text<'i>),
    /// The value is complete.
    ValueEnd,
    /// `__metadata__` is complete.
    MetadataEnd,
    /// The header is complete and sound in itself; what follows in the input is data. Comes again
    /// at every further call.
    HeaderEnd,
}

impl HeaderParser {
    /// The error that is due when the file ends where the input ended, or `Ok` when the header is
    /// complete.
    ///
    /// # Errors
    /// [`ErrorKind::FileTooShort`] or [`ErrorKind::HeaderBeyondFile`] at the end of the file; an
    /// earlier error is repeated.
    pub const fn end_of_input(&mut self) -> Result<(), Error> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let file_len = self.position();
        match self.header_len() {
            None => Err(self.fail(ErrorKind::FileTooShort.at(file_len))),
            Some(length) if file_len - 8 < length => {
                let present = file_len - 8;
                Err(self.fail(ErrorKind::HeaderBeyondFile { length, present }.at(file_len)))
            }
            Some(_) => match self.at_end() {
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            },
        }
    }

    /// As [`end_of_input`](Self::end_of_input), in one of several passes: a header that was complete in
    /// the first and is not in a later one has changed.
    pub(crate) const fn end_of_pass(&mut self, is_first: bool) -> Result<(), Error> {
        let had_failed = self.failure().is_some();
        match self.end_of_input() {
            Err(error) if !is_first && !had_failed => Err(self.fail(ErrorKind::Changed.at(error.at))),
            outcome => outcome,
        }
    }
}

impl core::fmt::Debug for HeaderParser {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HeaderParser").field("at", &self.position()).finish_non_exhaustive()
    }
}
