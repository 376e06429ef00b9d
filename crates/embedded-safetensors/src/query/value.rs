//! Finds one value of `__metadata__` by its key.

use crate::error::table::Fault;
use crate::error::{Error, ErrorKind};
use crate::header::progress::{Machine, Progress};
use crate::header::{HeaderParser, Signal, Signals};
use crate::util::bytes::copy;

/// A value, the rest of the buffer, and the offset of the value in the file.
pub(crate) type FoundValue<'v> = (&'v str, &'v mut [u8], u64);

/// Follows one pass over a header and stores the value of one key.
pub(crate) struct ValueSearch<'k, 'v> {
    parser: HeaderParser,
    key: &'k [u8],
    value: &'v mut [u8],
    value_len: u64,
    /// Where the value begins, once it has been found.
    found_at: Option<u64>,
    /// The length of the current key so far.
    key_len: usize,
    /// Whether the current key has matched so far; after the key, whether the value is the requested one.
    matches: bool,
}

impl<'k, 'v> ValueSearch<'k, 'v> {
    pub(crate) fn new(key: &'k str, value: &'v mut [u8]) -> Self {
        let (parser, key) = (HeaderParser::new(), key.as_bytes());
        Self { parser, key, value, value_len: 0, found_at: None, key_len: 0, matches: true }
    }

    /// Returns the value, once the pass is over.
    ///
    /// # Errors
    /// [`ErrorKind::ValueLength`] when the value is longer than the buffer.
    pub(crate) fn finish(self) -> Result<Option<&'v str>, Error> {
        Ok(self.finish_in_memory()?.map(|(value, ..)| value))
    }

    /// Returns the value and the rest of the buffer.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub(crate) fn finish_in_memory(self) -> Result<Option<FoundValue<'v>>, Error> {
        let Some(at) = self.found_at else { return Ok(None) };
        let (needed, capacity) = (self.value_len, self.value.len() as u64);
        let len = usize::try_from(needed).unwrap_or(usize::MAX);
        match self.value.split_at_mut_checked(len) {
            // The parser has validated the UTF-8 of every piece.
            Some((text, rest)) => Ok(Some((core::str::from_utf8(text).unwrap_or(""), rest, at))),
            None => Err(ErrorKind::ValueLength { needed, capacity }.at(at)),
        }
    }

    fn take(&mut self, input: &mut &[u8]) -> Signal {
        const SIGNALS: Signals = Signals::of(&[Signal::Key, Signal::KeyEnd, Signal::Value, Signal::ValueEnd]);
        let mut run: &[u8] = &[];
        loop {
            let signal = self.parser.advance::<false>(input, &mut run, SIGNALS);
            let piece = self.parser.piece(signal, run);
            match signal {
                Signal::Key => self.match_key(piece.as_bytes()),
                Signal::KeyEnd => {
                    self.match_key(piece.as_bytes());
                    if self.is_duplicate() {
                        return self.parser.stop_here(Fault::DuplicateKey);
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

    fn match_key(&mut self, piece: &[u8]) {
        let rest = self.key.get(self.key_len..).unwrap_or(&[]);
        self.matches = self.matches && rest.starts_with(piece);
        self.key_len += piece.len();
    }

    /// Whether the key that is now complete is a duplicate of the requested one.
    fn is_duplicate(&mut self) -> bool {
        self.matches = self.matches && self.key_len == self.key.len();
        self.matches && self.found_at.is_some()
    }

    /// It keeps counting when the buffer is full, so that the error can report the length that is needed.
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

    fn parser(&mut self) -> &mut HeaderParser {
        &mut self.parser
    }
}
