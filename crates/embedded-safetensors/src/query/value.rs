//! One value of `__metadata__`, found by its key.

use crate::error::table::Fault;
use crate::error::{Error, ErrorKind};
use crate::header::progress::{Machine, Progress};
use crate::header::{HeaderParser, Signal, Signals};
use crate::util::bytes::copy;

/// A value, the memory behind it, and where in the file it stands.
pub(crate) type Kept<'v> = (&'v str, &'v mut [u8], u64);

/// Follows one pass over a header and keeps the value of one key.
pub(crate) struct ValueSearch<'k, 'v> {
    parser: HeaderParser,
    key: &'k [u8],
    value: &'v mut [u8],
    value_len: u64,
    /// Where the value begins, once it has.
    found_at: Option<u64>,
    /// How long the key is that is coming by, so far.
    key_len: usize,
    /// Whether it is the one, as far as it has come; then, whether the value behind it is.
    matches: bool,
}

impl<'k, 'v> ValueSearch<'k, 'v> {
    pub(crate) fn new(key: &'k str, value: &'v mut [u8]) -> Self {
        let (parser, key) = (HeaderParser::new(), key.as_bytes());
        Self { parser, key, value, value_len: 0, found_at: None, key_len: 0, matches: true }
    }

    /// The value, once the pass is over.
    ///
    /// # Errors
    /// [`ErrorKind::ValueLength`] when it is longer than the memory for it.
    pub(crate) fn finish(self) -> Result<Option<&'v str>, Error> {
        Ok(self.finish_in_memory()?.map(|(value, ..)| value))
    }

    /// The value, and the memory behind it.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub(crate) fn finish_in_memory(self) -> Result<Option<Kept<'v>>, Error> {
        let Some(at) = self.found_at else { return Ok(None) };
        let (needed, capacity) = (self.value_len, self.value.len() as u64);
        let len = usize::try_from(needed).unwrap_or(usize::MAX);
        match self.value.split_at_mut_checked(len) {
            // The parser has proven every piece.
            Some((text, rest)) => Ok(Some((core::str::from_utf8(text).unwrap_or(""), rest, at))),
            None => Err(ErrorKind::ValueLength { needed, capacity }.at(at)),
        }
    }

    fn take(&mut self, input: &mut &[u8]) -> Signal {
        const TOLD: Signals = Signals::of(&[Signal::Key, Signal::KeyEnd, Signal::Value, Signal::ValueEnd]);
        let mut run: &[u8] = &[];
        loop {
            let signal = self.parser.advance::<false>(input, &mut run, TOLD);
            let piece = self.parser.piece(signal, run);
            match signal {
                Signal::Key => self.see_key(piece.as_bytes()),
                Signal::KeyEnd => {
                    self.see_key(piece.as_bytes());
                    if self.repeats() {
                        return self.parser.stop_here(Fault::KeyTwice);
                    }
                }
                Signal::Value => self.keep(piece.as_bytes()),
                Signal::ValueEnd => {
                    self.keep(piece.as_bytes());
                    self.end_value();
                }
                _ => return signal,
            }
        }
    }

    fn see_key(&mut self, piece: &[u8]) {
        let rest = self.key.get(self.key_len..).unwrap_or(&[]);
        self.matches = self.matches && rest.starts_with(piece);
        self.key_len += piece.len();
    }

    /// Whether the key that is complete has been found before.
    fn repeats(&mut self) -> bool {
        self.matches = self.matches && self.key_len == self.key.len();
        self.matches && self.found_at.is_some()
    }

    /// Counts on where the memory ends, so that the error can say how much is needed.
    fn keep(&mut self, piece: &[u8]) {
        if !self.matches {
            return;
        }
        let room = usize::try_from(self.value_len).ok().and_then(|from| self.value.get_mut(from..));
        copy(room.unwrap_or(&mut []), piece);
        self.value_len += piece.len() as u64;
    }

    fn end_value(&mut self) {
        if self.matches {
            self.found_at = Some(self.parser.event_start());
        }
        self.matches = true;
        self.key_len = 0;
    }
}

impl Machine for ValueSearch<'_, '_> {
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress> {
        self.take(input).progress()
    }

    fn error(&self) -> Error {
        self.parser.error()
    }

    fn cut_short(&mut self) {
        self.parser.end_pass(true);
    }
}
