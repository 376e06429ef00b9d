//! Use this when your program reads headers itself, as a stream of events or entries. To read tensors, use
//! [`Model`](crate::Model) or [`View`](crate::View).

mod entries;
mod grammar;
mod nesting;
mod number;
pub(crate) mod progress;
mod scanner;
mod signal;
mod text;
mod whole;

pub use crate::error::MAX_HEADER_LEN;
pub use entries::{Entries, Entry, Item};

use crate::dtype::Dtype;
use crate::error::Error;
pub use scanner::HeaderParser;
pub(crate) use signal::{Signal, Signals};
pub use text::Text;
pub(crate) use whole::Whole;

/// An event of the [`HeaderParser`].
///
/// A top-level name arrives as [`Name`](Self::Name) pieces. Then [`Tensor`](Self::Tensor) or
/// [`Metadata`](Self::Metadata) says what it names. A tensor's members follow in the file's order, each
/// exactly once, and [`TensorEnd`](Self::TensorEnd) ends it. An empty name has no pieces.
///
/// *Memory*: 24 bytes, `Copy`; text borrows from the input of the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Event<'i> {
    /// All input is consumed; call again with more.
    NeedInput,
    /// The length of the header, from the first 8 bytes.
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
    /// One dimension, outermost first. A shape may have any number of them.
    Dim(u64),
    /// The tensor's first offset.
    Begin(u64),
    /// The tensor's second offset.
    End(u64),
    /// The tensor's entry is complete: dtype, shape and both offsets have been seen.
    TensorEnd,
    /// `__metadata__` is null: there is no metadata.
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
    /// The header is complete and valid in itself; data follows in the input. Every further call returns this
    /// event again.
    HeaderEnd,
}

impl HeaderParser {
    /// Reads to the next event, and moves `input` past the bytes consumed. Data after the header is never
    /// consumed.
    ///
    /// # Errors
    /// The first error in the header. Every further call returns the same error.
    pub const fn next<'i>(&mut self, input: &mut &'i [u8]) -> Result<Event<'i>, Error> {
        let mut run: &'i [u8] = &[];
        match self.advance::<false>(input, &mut run, Signals::ALL) {
            Signal::Failed => Err(self.error()),
            signal => Ok(self.event(signal, run)),
        }
    }

    /// Returns the event of a signal.
    const fn event<'i>(&self, signal: Signal, run: &'i [u8]) -> Event<'i> {
        match signal {
            Signal::Length => Event::Length(self.number),
            Signal::Name => Event::Name(self.piece(signal, run)),
            Signal::Tensor => Event::Tensor,
            Signal::Metadata => Event::Metadata,
            Signal::Dtype => Event::Dtype(self.dtype),
            Signal::Shape => Event::Shape,
            Signal::Dim => Event::Dim(self.number),
            Signal::Begin => Event::Begin(self.begin),
            Signal::End => Event::End(self.range_end),
            Signal::TensorEnd => Event::TensorEnd,
            Signal::MetadataNull => Event::MetadataNull,
            Signal::Key => Event::Key(self.piece(signal, run)),
            Signal::KeyEnd => Event::KeyEnd,
            Signal::Value => Event::Value(self.piece(signal, run)),
            Signal::ValueEnd => Event::ValueEnd,
            Signal::MetadataEnd => Event::MetadataEnd,
            Signal::HeaderEnd => Event::HeaderEnd,
            Signal::NeedInput | Signal::Failed | Signal::Nothing => Event::NeedInput,
        }
    }

    /// Returns the piece of text that came with the last signal. At the end of a string it may be empty.
    pub(crate) const fn piece<'i>(&self, signal: Signal, run: &'i [u8]) -> Text<'i> {
        match signal {
            Signal::Name | Signal::Key | Signal::Value if run.is_empty() => Text::escape(self.character),
            _ => Text::run(run),
        }
    }

    /// Returns the bytes of the [`piece`](Self::piece).
    pub(crate) const fn piece_bytes<'i>(&'i self, signal: Signal, run: &'i [u8]) -> &'i [u8] {
        match signal {
            Signal::Name | Signal::Key | Signal::Value if run.is_empty() => self.character.as_bytes(),
            _ => run,
        }
    }

    /// Ends the input: the file has no more bytes. Returns `Ok` if the header is complete.
    ///
    /// # Errors
    /// [`FileTooShort`](crate::ErrorKind::FileTooShort) or
    /// [`HeaderBeyondFile`](crate::ErrorKind::HeaderBeyondFile) at the end of the file; an
    /// earlier error is repeated.
    pub const fn end_of_input(&mut self) -> Result<(), Error> {
        match self.end_pass(true) {
            Signal::Failed => Err(self.error()),
            _ => Ok(()),
        }
    }
}

shown!(HeaderParser, it => "HeaderParser {{ at: {:?}, .. }}", it.position());
