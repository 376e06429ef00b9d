//! All of `__metadata__`, stored in the caller's buffer.

use crate::error::table::Fault;
use crate::error::{Error, ErrorKind};
use crate::header::progress::{Machine, Progress};
use crate::header::{HeaderParser, Signal, Signals};
use crate::util::bytes::copy;

/// Precedes each pair: length of the key, length of the value, offset of the value in the file.
const PREFIX: usize = 12;

/// The keys and values of `__metadata__`, in the order of the header.
///
/// *Memory*: 16 bytes, `Copy`. The strings are in the caller's buffer, with 12 more bytes for each pair.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Metadata<'v> {
    left: &'v [u8],
}

/// A key of `__metadata__` and its value.
///
/// *Memory*: 40 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Pair<'v> {
    /// The key.
    pub key: &'v str,
    /// The value.
    pub value: &'v str,
    /// The byte of the file at which the value's opening quote is.
    pub at: u64,
}

impl Metadata<'_> {
    /// Returns how many bytes of the buffer the remaining pairs take.
    #[cfg(feature = "serde-json-core")]
    pub(crate) const fn byte_len(&self) -> usize {
        self.left.len()
    }
}

impl<'v> Metadata<'v> {
    /// Returns the next key and its value, and where the value is in the file.
    fn next_bytes(&mut self) -> Option<(&'v [u8], &'v [u8], u64)> {
        let (prefix, rest) = self.left.split_first_chunk::<PREFIX>()?;
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *prefix;
        let (key, rest) = rest.split_at_checked(u32::from_le_bytes([a, b, c, d]) as usize)?;
        let (value, rest) = rest.split_at_checked(u32::from_le_bytes([e, f, g, h]) as usize)?;
        self.left = rest;
        Some((key, value, u32::from_le_bytes([i, j, k, l]).into()))
    }

    /// Whether a pair has this key. Only keys are looked at: a value may be long.
    fn has(mut self, key: &[u8]) -> bool {
        core::iter::from_fn(|| self.next_bytes()).any(|(found, ..)| found == key)
    }
}

impl<'v> Iterator for Metadata<'v> {
    type Item = Pair<'v>;

    fn next(&mut self) -> Option<Pair<'v>> {
        let (key, value, at) = self.next_bytes()?;
        Some(Pair { key: text(key), value: text(value), at })
    }
}

/// The parser has validated the UTF-8 of every piece.
fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).unwrap_or("")
}

/// Follows one pass over a header and stores the pairs of `__metadata__`.
pub(crate) struct Pairs<'v> {
    parser: HeaderParser,
    memory: &'v mut [u8],
    /// The end of the complete pairs. It keeps counting when the buffer is full.
    end: u64,
    key_len: u32,
    value_len: u32,
    /// Where `__metadata__` begins, if it is an object.
    found_at: Option<u64>,
}

impl<'v> Pairs<'v> {
    pub(crate) fn new(memory: &'v mut [u8]) -> Self {
        let parser = HeaderParser::new();
        Self { parser, memory, end: 0, key_len: 0, value_len: 0, found_at: None }
    }

    /// Returns the pairs and the rest of the buffer, once the pass is over. `None` when there is no
    /// `__metadata__`.
    ///
    /// # Errors
    /// [`ErrorKind::MetadataLength`] when the buffer is too small, with the length that is enough.
    pub(crate) fn finish(self) -> Result<Option<(Metadata<'v>, &'v mut [u8])>, Error> {
        let Some(at) = self.found_at else { return Ok(None) };
        let capacity = self.memory.len() as u64;
        let end = usize::try_from(self.end).unwrap_or(usize::MAX);
        match self.memory.split_at_mut_checked(end) {
            Some((pairs, rest)) => Ok(Some((Metadata { left: pairs }, rest))),
            None => Err(ErrorKind::MetadataLength { needed: self.end, capacity }.at(at)),
        }
    }

    fn take(&mut self, input: &mut &[u8]) -> Signal {
        const SIGNALS: Signals = Signals::of(&[
            Signal::Metadata,
            Signal::MetadataNull,
            Signal::Key,
            Signal::KeyEnd,
            Signal::Value,
            Signal::ValueEnd,
        ]);
        let mut run: &[u8] = &[];
        loop {
            let signal = self.parser.advance::<false>(input, &mut run, SIGNALS);
            let piece = self.parser.piece(signal, run);
            match signal {
                Signal::Metadata => self.found_at = Some(self.parser.event_start()),
                Signal::MetadataNull => self.found_at = None,
                Signal::Key => self.key_len += self.keep(piece.as_bytes()),
                Signal::KeyEnd => {
                    self.key_len += self.keep(piece.as_bytes());
                    if self.is_duplicate() {
                        return self.parser.stop_here(Fault::DuplicateKey);
                    }
                }
                Signal::Value => self.value_len += self.keep(piece.as_bytes()),
                Signal::ValueEnd => {
                    self.value_len += self.keep(piece.as_bytes());
                    self.end_pair();
                }
                _ => return signal,
            }
        }
    }

    /// Appends a piece to the current pair and returns its length. It keeps counting when the buffer is
    /// full, so that the error can report the length that is needed.
    fn keep(&mut self, piece: &[u8]) -> u32 {
        let from = self.end + PREFIX as u64 + u64::from(self.key_len) + u64::from(self.value_len);
        self.write(from, piece);
        u32::try_from(piece.len()).unwrap_or(u32::MAX)
    }

    fn write(&mut self, from: u64, bytes: &[u8]) {
        let room = usize::try_from(from).ok().and_then(|from| self.memory.get_mut(from..));
        copy(room.unwrap_or(&mut []), bytes);
    }

    /// Whether the key that is now complete is a duplicate.
    fn is_duplicate(&self) -> bool {
        let end = usize::try_from(self.end).unwrap_or(usize::MAX);
        let Some((pairs, rest)) = self.memory.split_at_checked(end) else { return false };
        let key = rest.get(PREFIX..).and_then(|key| key.get(..self.key_len as usize));
        key.is_some_and(|key| Metadata { left: pairs }.has(key))
    }

    fn end_pair(&mut self) {
        // A header ends at byte 100,000,008 at the latest.
        let at = u32::try_from(self.parser.event_start()).unwrap_or(u32::MAX);
        let end = self.end;
        for (index, number) in [self.key_len, self.value_len, at].into_iter().enumerate() {
            self.write(end + 4 * index as u64, &number.to_le_bytes());
        }
        self.end += PREFIX as u64 + u64::from(self.key_len) + u64::from(self.value_len);
        (self.key_len, self.value_len) = (0, 0);
    }
}

impl Machine for Pairs<'_> {
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress> {
        self.take(input).progress()
    }

    fn parser(&mut self) -> &mut HeaderParser {
        &mut self.parser
    }
}
