//! The bytes of a header, made into buffers of any size.

use super::decimal;
use super::escape::{self, LONGEST_ESCAPE, plain_len};
use super::plan::FilePlan;
use super::text::{HeaderText, Output};
use crate::io::write::PREFIX;
use crate::util::bytes::{copy, front};
use core::mem::take;

/// Spells the header of a file: the 8 bytes of its length, the JSON, the spaces at its end. It stops where a buffer is full, and goes on
/// in the next one.
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
/// assert_eq!(radio, b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ");
/// # Ok::<(), embedded_safetensors::write::SpecError>(())
/// ```
///
/// *Memory*: 184 bytes, 120 where pointers have 32 bits.
#[derive(Clone)]
pub struct HeaderEncoder<'a> {
    text: HeaderText<'a>,
    /// Where in the part whose turn it is.
    place: TextPlace,
    left: u64,
}

impl<'a> FilePlan<'a> {
    /// Returns what spells the header, into buffers of any size.
    #[inline]
    pub fn encoder(&self) -> HeaderEncoder<'a> {
        HeaderEncoder { text: self.text(), place: TextPlace::START, left: self.data_start() }
    }
}

impl HeaderEncoder<'_> {
    /// Fills the buffer with the bytes that come next, and returns the part that it has filled: all of it, until there are no more.
    pub fn encode<'b>(&mut self, buffer: &'b mut [u8]) -> &'b [u8] {
        let buffer = front(buffer, self.left);
        let mut room = &mut *buffer;
        while !room.is_empty() {
            let Some(rest) = self.spell_part(room) else { break };
            room = rest;
            if !self.text.advance() {
                room.fill(b' ');
                break;
            }
        }
        self.left = self.left.saturating_sub(buffer.len() as u64);
        buffer
    }

    /// Passes over so many bytes, or all that are left. It takes the time of making them.
    pub fn skip(&mut self, bytes: u64) {
        let end = self.left.saturating_sub(bytes);
        let mut waste = [0; 32];
        while self.left > end {
            let room = front(&mut waste, self.left - end);
            self.encode(room);
        }
    }

    /// How many bytes have been made; the place in the file of the one that comes next.
    pub const fn position(&self) -> u64 {
        (PREFIX as u64 + self.text.header_len() as u64).saturating_sub(self.left)
    }

    /// How many bytes are still to come.
    pub const fn remaining(&self) -> u64 {
        self.left
    }

    /// Spells what is left of the part whose turn it is, and gives the room after it; none where it has too little.
    fn spell_part<'r>(&mut self, room: &'r mut [u8]) -> Option<&'r mut [u8]> {
        let mut window = Window { room, piece: 0, place: self.place };
        let outcome = self.text.spell(&mut window);
        self.place = if outcome.is_some() { TextPlace::START } else { window.place };
        outcome.map(|()| window.room)
    }
}

shown!(HeaderEncoder<'_>, it => "HeaderEncoder {{ position: {:?}, .. }}", it.position());

/// A place in the text of a part, which is spelled up to there.
#[derive(Clone, Copy)]
struct TextPlace {
    /// How many pieces are spelled.
    pieces: usize,
    /// How many bytes of the next one are, before they are escaped.
    bytes: usize,
    /// How much of the next byte's escape is.
    escape: usize,
}

impl TextPlace {
    const START: Self = Self { pieces: 0, bytes: 0, escape: 0 };
}

/// A part goes into the room from the place on where it stopped in another one.
struct Window<'r> {
    room: &'r mut [u8],
    /// How many pieces have come.
    piece: usize,
    place: TextPlace,
}

impl Window<'_> {
    /// Whether something of the piece that comes is not spelled yet.
    fn begin_piece(&mut self) -> bool {
        self.piece = self.piece.wrapping_add(1); // there are fewer than bytes in memory
        self.piece > self.place.pieces
    }

    fn stop(&mut self) -> Option<()> {
        self.place.pieces = self.piece.wrapping_sub(1);
        None
    }

    /// Gives so many bytes of the room away, or all.
    fn pass(&mut self, len: usize) -> &mut [u8] {
        let len = len.min(self.room.len());
        let (front, rest) = take(&mut self.room).split_at_mut_checked(len).unwrap_or_default();
        self.room = rest;
        front
    }

    /// Puts what is left of the piece.
    fn put_rest(&mut self, piece: &[u8]) -> Option<()> {
        let left = piece.get(self.place.bytes..).unwrap_or(&[]);
        let len = copy(self.pass(left.len()), left);
        if len < left.len() {
            self.place.bytes += len;
            return self.stop();
        }
        self.place.bytes = 0;
        Some(())
    }
}

impl Output for Window<'_> {
    #[inline(never)]
    fn text(&mut self, text: &[u8]) -> Option<()> {
        if !self.begin_piece() {
            return Some(());
        }
        self.put_rest(text)
    }

    fn number(&mut self, number: u64) -> Option<()> {
        if !self.begin_piece() {
            return Some(());
        }
        if let (0, Some(room)) = (self.place.bytes, self.room.first_chunk_mut()) {
            let len = decimal::write(number, room);
            self.pass(len);
            return Some(());
        }
        let mut digits = [0; decimal::MOST_DIGITS];
        let len = decimal::write(number, &mut digits);
        self.put_rest(front(&mut digits, len as u64))
    }

    fn quoted(&mut self, text: &str) -> Option<()> {
        if !self.begin_piece() {
            return Some(());
        }
        loop {
            let left = text.as_bytes().get(self.place.bytes..).unwrap_or(&[]);
            let near = left.get(..self.room.len()).unwrap_or(left);
            let plain = near.get(..plain_len(near)).unwrap_or(near);
            copy(self.pass(plain.len()), plain);
            let Some(byte) = left.get(plain.len()) else { break };
            self.place.bytes += plain.len();
            let mut escape = [0; LONGEST_ESCAPE];
            let len = escape::write(*byte, &mut escape);
            let escape = front(&mut escape, len as u64).get(self.place.escape..).unwrap_or(&[]);
            let len = copy(self.pass(escape.len()), escape);
            if len < escape.len() {
                self.place.escape += len;
                return self.stop();
            }
            (self.place.bytes, self.place.escape) = (self.place.bytes + 1, 0);
        }
        self.place.bytes = 0;
        Some(())
    }
}
