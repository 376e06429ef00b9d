//! Encodes the bytes of a header into buffers of any size.

use super::decimal;
use super::escape::{self, LONGEST_ESCAPE, plain_len};
use super::plan::FilePlan;
use super::text::{HeaderText, Output};
use crate::io::write::PREFIX;
use crate::util::bytes::{copy, front};
use core::mem::take;

/// Encodes the header of a file: the 8 bytes of its length, the JSON, and the spaces at its end. It stops
/// when a buffer is full and continues in the next one.
///
/// ```
/// use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec}};
///
/// let tensors = [TensorSpec::new("a", Dtype::U8, &[2])];
/// let mut encoder = FileSpec::new(&tensors).plan()?.encoder();
/// let mut radio = Vec::new();
/// let mut packet = [0; 10];
/// while let bytes @ [_, ..] = encoder.encode(&mut packet) {
///     radio.extend_from_slice(bytes);
/// }
/// assert_eq!(
///     radio,
///     b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   "
/// );
/// # Ok::<(), embedded_safetensors::write::SpecError>(())
/// ```
///
/// *Memory*: 184 bytes, 120 where pointers have 32 bits.
#[derive(Clone)]
pub struct HeaderEncoder<'a> {
    text: HeaderText<'a>,
    /// The progress in the current part.
    progress: Progress,
    left: u64,
}

impl<'a> FilePlan<'a> {
    /// Returns an encoder of the header, for buffers of any size.
    #[inline]
    pub fn encoder(&self) -> HeaderEncoder<'a> {
        HeaderEncoder { text: self.text(), progress: Progress::START, left: self.data_start() }
    }
}

impl HeaderEncoder<'_> {
    /// Fills the buffer with the next bytes, and returns the part that is filled: the entire buffer, until
    /// the header ends.
    pub fn encode<'b>(&mut self, buffer: &'b mut [u8]) -> &'b [u8] {
        let buffer = front(buffer, self.left);
        let mut unfilled = &mut *buffer;
        while !unfilled.is_empty() {
            let Some(rest) = self.write_part(unfilled) else { break };
            unfilled = rest;
            if !self.text.advance() {
                unfilled.fill(b' ');
                break;
            }
        }
        self.left = self.left.saturating_sub(buffer.len() as u64);
        buffer
    }

    /// Skips `bytes` bytes, or all that remain. Takes as long as encoding them.
    pub fn skip(&mut self, bytes: u64) {
        let end = self.left.saturating_sub(bytes);
        let mut discarded = [0; 32];
        while self.left > end {
            let part = front(&mut discarded, self.left - end);
            self.encode(part);
        }
    }

    /// Returns the number of bytes encoded, which is the offset of the next one in the file.
    pub const fn position(&self) -> u64 {
        (PREFIX as u64 + self.text.header_len() as u64).saturating_sub(self.left)
    }

    /// Returns the number of bytes that remain.
    pub const fn remaining(&self) -> u64 {
        self.left
    }

    /// Writes the rest of the current part, and returns the buffer after it, or `None` if the buffer is too
    /// small.
    fn write_part<'r>(&mut self, buffer: &'r mut [u8]) -> Option<&'r mut [u8]> {
        let mut output = BufferOutput { buffer, piece: 0, progress: self.progress };
        let outcome = self.text.write(&mut output);
        self.progress = if outcome.is_some() { Progress::START } else { output.progress };
        outcome.map(|()| output.buffer)
    }
}

shown!(HeaderEncoder<'_>, it => "HeaderEncoder {{ position: {:?}, .. }}", it.position());

/// The progress in the text of a part.
#[derive(Clone, Copy)]
struct Progress {
    /// The number of pieces written.
    pieces: usize,
    /// The number of bytes of the next piece written, counted before escaping.
    bytes: usize,
    /// The number of bytes of the next byte's escape written.
    escape: usize,
}

impl Progress {
    const START: Self = Self { pieces: 0, bytes: 0, escape: 0 };
}

/// Writes a part to a buffer, continuing from `progress`.
struct BufferOutput<'r> {
    buffer: &'r mut [u8],
    /// The number of pieces begun.
    piece: usize,
    progress: Progress,
}

impl BufferOutput<'_> {
    /// Begins a piece. Returns whether it is not completely written yet.
    fn begin_piece(&mut self) -> bool {
        self.piece = self.piece.wrapping_add(1); // cannot wrap: fewer pieces than bytes in memory
        self.piece > self.progress.pieces
    }

    fn stop(&mut self) -> Option<()> {
        self.progress.pieces = self.piece.wrapping_sub(1);
        None
    }

    /// Removes up to `len` bytes from the front of the buffer, and returns them.
    fn take_front(&mut self, len: usize) -> &mut [u8] {
        let len = len.min(self.buffer.len());
        let (front, rest) = take(&mut self.buffer).split_at_mut_checked(len).unwrap_or_default();
        self.buffer = rest;
        front
    }

    /// Writes the rest of the piece.
    fn write_rest(&mut self, piece: &[u8]) -> Option<()> {
        let left = piece.get(self.progress.bytes..).unwrap_or(&[]);
        let len = copy(self.take_front(left.len()), left);
        if len < left.len() {
            self.progress.bytes += len;
            return self.stop();
        }
        self.progress.bytes = 0;
        Some(())
    }
}

impl Output for BufferOutput<'_> {
    #[inline(never)]
    fn text(&mut self, text: &[u8]) -> Option<()> {
        if !self.begin_piece() {
            return Some(());
        }
        self.write_rest(text)
    }

    fn number(&mut self, number: u64) -> Option<()> {
        if !self.begin_piece() {
            return Some(());
        }
        if let (0, Some(space)) = (self.progress.bytes, self.buffer.first_chunk_mut()) {
            let len = decimal::write(number, space);
            self.take_front(len);
            return Some(());
        }
        let mut digits = [0; decimal::MOST_DIGITS];
        let len = decimal::write(number, &mut digits);
        self.write_rest(front(&mut digits, len as u64))
    }

    fn quoted(&mut self, text: &str) -> Option<()> {
        if !self.begin_piece() {
            return Some(());
        }
        loop {
            let left = text.as_bytes().get(self.progress.bytes..).unwrap_or(&[]);
            let near = left.get(..self.buffer.len()).unwrap_or(left);
            let plain = near.get(..plain_len(near)).unwrap_or(near);
            copy(self.take_front(plain.len()), plain);
            let Some(byte) = left.get(plain.len()) else { break };
            self.progress.bytes += plain.len();
            let mut escape = [0; LONGEST_ESCAPE];
            let len = escape::write(*byte, &mut escape);
            let escape = front(&mut escape, len as u64).get(self.progress.escape..).unwrap_or(&[]);
            let len = copy(self.take_front(escape.len()), escape);
            if len < escape.len() {
                self.progress.escape += len;
                return self.stop();
            }
            (self.progress.bytes, self.progress.escape) = (self.progress.bytes + 1, 0);
        }
        self.progress.bytes = 0;
        Some(())
    }
}
