//! The sum that a file contains.

use super::sum::{Sum, check};
use crate::error::table::Fault;
use crate::error::{Error, ErrorKind};
use crate::header::progress::{Machine, Progress};
use crate::header::{HeaderParser, Signal, Signals};
use crate::util::bytes::{copy, hex_digit};

/// The key of `__metadata__` whose value is the sum of the file.
pub const KEY: &str = "safetensors.sha256";

/// The value of [`KEY`] while the sum is computed: 64 digits `0`. A program that writes a file with its sum
/// writes this first.
pub const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A verifier of a file that contains its own sum, for files that arrive in a stream.
///
/// [`Model::verify_embedded`](crate::Model::verify_embedded) is the shorter way for files in storage.
///
/// *Memory*: at most 192 bytes, and the sum. Neither the header nor the data is stored.
pub struct Verifier<S> {
    parser: HeaderParser,
    sum: S,
    /// The sum in the file.
    stored: [u8; 32],
    /// Where its opening quote is; 0 until it is found.
    found_at: u64,
    /// How much of the current key has been compared.
    key_len: usize,
    /// Whether the current key has matched so far; after the key, whether the value is the sum.
    matches: bool,
    /// Whether the current key has an escape.
    has_escape: bool,
    /// Whether the sum, or its key, is spelled in another way than the definition allows.
    is_misspelled: bool,
    /// How many digits have been read.
    digits: u8,
}

/// The sum in a file, and the sum that it has.
///
/// *Memory*: 72 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct EmbeddedSum {
    /// The offset of the first digit in the file.
    pub at: u64,
    /// The sum in the file.
    pub stored: [u8; 32],
    /// The sum of the bytes, with `0` in place of the digits.
    pub computed: [u8; 32],
}

impl EmbeddedSum {
    /// Returns the digits of the computed sum, which belong at [`at`](Self::at).
    pub fn digits(&self) -> [u8; 64] {
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.computed) {
            copy(pair, &[hex_digit(byte >> 4), hex_digit(byte & 0xF)]);
        }
        digits
    }
}

impl<S: Sum<Value = [u8; 32]>> Verifier<S> {
    /// Creates a verifier of a new file, with a SHA-256 of no bytes.
    pub const fn new(sum: S) -> Self {
        Self {
            parser: HeaderParser::new(),
            sum,
            stored: [0; 32],
            found_at: 0,
            key_len: 0,
            matches: true,
            has_escape: false,
            is_misspelled: false,
            digits: 0,
        }
    }

    /// Takes the next bytes of the file, in a piece of any size. Bytes after the end of the file would change
    /// the sum. After an error in the header, which [`finish`](Self::finish) returns, bytes are ignored.
    pub fn update(&mut self, bytes: &[u8]) {
        let mut data = bytes;
        if self.take(&mut data) == Signal::HeaderEnd {
            self.sum.update(data);
        }
    }

    /// Ends the file, and compares its sum with the sum in it.
    ///
    /// # Errors
    /// [`ErrorKind::SumMismatch`] when the file has changed; otherwise as [`finish`](Self::finish).
    pub fn verify(self) -> Result<(), Error> {
        let EmbeddedSum { at, stored, computed } = self.finish()?;
        check::<S>(&stored, &computed, at)
    }

    /// Ends the file, and returns the sum in it and the sum that it has.
    ///
    /// # Errors
    /// [`ErrorKind::SumMissing`] when the file contains no sum; [`ErrorKind::SumSpelling`] when it is not 64
    /// hexadecimal digits in lowercase; [`ErrorKind::DuplicateKey`]; errors in the header, unless they
    /// concern shapes and offsets: those are found by [`Validator`](crate::validate::Validator).
    pub fn finish(mut self) -> Result<EmbeddedSum, Error> {
        self.parser.end_of_input()?;
        let at = self.found()?;
        Ok(EmbeddedSum { at, stored: self.stored, computed: self.sum.finish() })
    }

    /// Returns the offset of the first digit, after a complete header.
    ///
    /// # Errors
    /// [`ErrorKind::SumMissing`]; [`ErrorKind::SumSpelling`].
    pub(crate) fn found(&self) -> Result<u64, Error> {
        match self.found_at {
            0 => Err(ErrorKind::SumMissing.at(self.parser.position())),
            at if self.is_misspelled => Err(ErrorKind::SumSpelling.at(at)),
            at => Ok(at.saturating_add(1)),
        }
    }

    /// Returns the sum, to add the data of a file whose header has been read.
    pub(crate) const fn sum(&mut self) -> &mut S {
        &mut self.sum
    }

    /// Reads the header, and adds its bytes to the sum.
    fn take(&mut self, input: &mut &[u8]) -> Signal {
        const SIGNALS: Signals = Signals::of(&[Signal::Key, Signal::KeyEnd, Signal::Value, Signal::ValueEnd]);
        let mut run: &[u8] = &[];
        loop {
            let before = *input;
            let signal = self.parser.advance::<false>(input, &mut run, SIGNALS);
            self.add(before.get(..before.len() - input.len()).unwrap_or(before), signal, run);
            match signal {
                Signal::Key => self.match_key(signal, run),
                Signal::KeyEnd => {
                    self.match_key(signal, run);
                    if self.is_duplicate() {
                        return self.parser.stop_here(Fault::DuplicateKey);
                    }
                }
                Signal::Value => self.keep(run, run.is_empty()),
                Signal::ValueEnd => {
                    self.keep(run, false);
                    self.end_value();
                }
                _ => return signal,
            }
        }
    }

    /// Adds bytes of the header to the sum. `run` is at their end, before a quote that ends the string.
    fn add(&mut self, bytes: &[u8], signal: Signal, run: &[u8]) {
        let after = match signal {
            Signal::Value if self.matches => 0,
            Signal::ValueEnd if self.matches => 1,
            _ => return self.sum.update(bytes),
        };
        let end = bytes.len().saturating_sub(after);
        let begin = end.saturating_sub(run.len());
        self.sum.update(bytes.get(..begin).unwrap_or_default());
        self.sum.update(ZEROS.as_bytes().get(..run.len()).unwrap_or_default());
        self.sum.update(bytes.get(end..).unwrap_or_default());
    }

    fn match_key(&mut self, signal: Signal, run: &[u8]) {
        let piece = self.parser.piece(signal, run);
        let piece = piece.as_bytes();
        let rest = KEY.as_bytes().get(self.key_len..).unwrap_or_default();
        self.matches = self.matches && rest.starts_with(piece);
        self.has_escape |= signal == Signal::Key && run.is_empty();
        self.key_len += piece.len();
    }

    /// Whether the key that is now complete is a duplicate of the one of the sum.
    fn is_duplicate(&mut self) -> bool {
        self.matches = self.matches && self.key_len == KEY.len();
        self.matches && self.found_at > 0
    }

    /// Stores a piece of the sum.
    fn keep(&mut self, run: &[u8], is_escape: bool) {
        if !self.matches {
            return;
        }
        self.is_misspelled |= is_escape;
        for &digit in run {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => {
                    self.is_misspelled = true;
                    0
                }
            };
            if let Some(byte) = self.stored.get_mut(usize::from(self.digits >> 1)) {
                *byte = *byte << 4 | value;
            }
            self.digits = self.digits.saturating_add(1);
        }
    }

    fn end_value(&mut self) {
        if self.matches {
            self.found_at = self.parser.event_start();
            self.is_misspelled |= self.has_escape || usize::from(self.digits) != ZEROS.len();
        }
        (self.matches, self.has_escape, self.key_len) = (true, false, 0);
    }
}

impl<S: Sum<Value = [u8; 32]>> Machine for Verifier<S> {
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress> {
        self.take(input).progress()
    }

    fn parser(&mut self) -> &mut HeaderParser {
        &mut self.parser
    }
}

impl<S> core::fmt::Debug for Verifier<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Verifier {{ at: {:?}, .. }}", self.parser.position())
    }
}

#[cfg(feature = "defmt")]
impl<S> defmt::Format for Verifier<S> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Verifier {{ at: {=u64}, .. }}", self.parser.position());
    }
}
