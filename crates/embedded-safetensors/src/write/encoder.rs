//! The bytes of a header, made into buffers of any size.

use super::decimal;
use super::escape::{Spelling, hex, spelling};
use super::text::{Piece, Pieces};
use super::plan::{FilePlan, PREFIX};
use crate::util::bytes::{copy, front};

/// Spells the header of a file: the 8 bytes of its length, the JSON, the spaces behind it. It stops where a buffer is full, and goes on
/// in the next one.
///
/// ```
/// use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec}};
///
/// let tensors = [TensorSpec::new("a", Dtype::U8, &[2])];
/// let mut encoder = FileSpec::new(&tensors).in_order()?.encoder();
/// let mut radio = Vec::new();
/// let mut packet = [0; 10];
/// while let bytes @ [_, ..] = encoder.encode(&mut packet) {
///     radio.extend_from_slice(bytes);
/// }
/// assert_eq!(radio, b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ");
/// # Ok::<(), embedded_safetensors::write::SpecError>(())
/// ```
///
/// *Memory*: 248 bytes, 176 where pointers have 32 bits.
#[derive(Clone)]
pub struct HeaderEncoder<'a> {
    pieces: Pieces<'a>,
    /// What is to come of a number or an escape; before `text`.
    small: Small,
    /// What is to come of a piece of text.
    text: &'a [u8],
    is_escaped: bool,
    /// Behind the text.
    number: Option<u64>,
    /// How many come behind the last piece.
    spaces: u32,
    left: u64,
    len: u64,
}

impl<'a> HeaderEncoder<'a> {
    #[inline]
    pub(super) fn new(plan: &FilePlan<'a>) -> Self {
        let (len, small) = (plan.data_start(), Small::NOTHING);
        let (pieces, spaces) = (plan.pieces(), plan.spaces());
        Self { pieces, small, text: &[], is_escaped: false, number: None, spaces, left: len, len }
    }

    /// Fills the buffer with the bytes that come next, and gives the part that it has filled: all of it, until there are no more.
    pub fn encode<'b>(&mut self, buffer: &'b mut [u8]) -> &'b [u8] {
        let buffer = front(buffer, self.left);
        let mut filled = 0;
        while let Some(room @ [_, ..]) = buffer.get_mut(filled..) {
            let len = match self.has_rest() {
                true => self.put_rest(room),
                false => self.put_next(room),
            };
            let Some(len) = len else { break };
            filled += len;
        }
        self.left = self.left.saturating_sub(filled as u64);
        front(buffer, filled as u64)
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
        self.len - self.left
    }

    /// How many bytes are still to come.
    pub const fn remaining(&self) -> u64 {
        self.left
    }

    /// Puts the next piece into the room, and keeps what has no room. Says how much that was; nothing when there are no more.
    #[inline]
    fn put_next(&mut self, room: &mut [u8]) -> Option<usize> {
        if let Some(len) = self.pieces.put_entries(room) {
            return Some(len);
        }
        self.is_escaped = false;
        match self.pieces.next() {
            Some(Piece::Plain(text)) => Some(self.put_plain(text.as_bytes(), room)),
            Some(Piece::Number(text, number)) => Some(self.put_number(text.as_bytes(), number, room)),
            Some(Piece::Escaped(text)) => Some(self.put_escaped(text.as_bytes(), room)),
            Some(Piece::Length) => Some(self.put_length(room)),
            None => self.put_spaces(room),
        }
    }

    fn put_length(&mut self, room: &mut [u8]) -> usize {
        let length = self.len.saturating_sub(PREFIX).to_le_bytes();
        match room.first_chunk_mut() {
            Some(front) => *front = length,
            None => {
                self.small = Small::of(&length);
                return 0;
            }
        }
        length.len()
    }

    fn put_plain(&mut self, text: &'a [u8], room: &mut [u8]) -> usize {
        let len = copy(room, text);
        self.text = text.get(len..).unwrap_or(&[]);
        len
    }

    fn put_number(&mut self, text: &'a [u8], number: u64, room: &mut [u8]) -> usize {
        let len = self.put_plain(text, room);
        match room.get_mut(len..).and_then(<[u8]>::first_chunk_mut) {
            Some(digits) => len + decimal::write(number, digits),
            None => {
                self.number = Some(number);
                len
            }
        }
    }

    /// The text up to what must be escaped; where it comes at once, its escape.
    fn put_escaped(&mut self, text: &'a [u8], room: &mut [u8]) -> usize {
        let near = text.get(..room.len()).unwrap_or(text);
        let plain = near.iter().position(|byte| !spelling(*byte).is_plain()).unwrap_or(near.len());
        if let (0, Some((byte, rest))) = (plain, text.split_first()) {
            (self.small, self.text, self.is_escaped) = (escape(*byte), rest, true);
            return 0;
        }
        let (now, rest) = text.split_at_checked(plain).unwrap_or((text, &[]));
        (self.text, self.is_escaped) = (rest, true);
        copy(room, now)
    }

    fn put_spaces(&mut self, room: &mut [u8]) -> Option<usize> {
        let left = usize::try_from(self.spaces).unwrap_or(usize::MAX);
        let len = left.min(room.len());
        room.iter_mut().take(len).for_each(|byte| *byte = b' ');
        self.spaces = self.spaces.saturating_sub(u32::try_from(len).unwrap_or(u32::MAX));
        (len > 0).then_some(len)
    }

    /// Whether there is something left of a piece that had no room.
    fn has_rest(&self) -> bool {
        !self.text.is_empty() || self.number.is_some() || self.small.begin < self.small.end
    }

    #[cold]
    fn put_rest(&mut self, room: &mut [u8]) -> Option<usize> {
        if let small @ [_, ..] = self.small.left() {
            let len = copy(room, small);
            self.small.pass(len);
            return Some(len);
        }
        Some(match (self.text, self.number) {
            ([], Some(number)) => {
                (self.small, self.number) = (Small::number(number), None);
                0
            }
            (text, _) if self.is_escaped => self.put_escaped(text, room),
            (text, _) => self.put_plain(text, room),
        })
    }
}

impl core::fmt::Debug for HeaderEncoder<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HeaderEncoder").field("position", &self.position()).finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for HeaderEncoder<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "HeaderEncoder {{ position: {=u64}, .. }}", self.position());
    }
}

/// A few bytes that are made, and not borrowed.
#[derive(Clone, Copy)]
struct Small {
    bytes: [u8; decimal::MOST_DIGITS],
    begin: u8,
    end: u8,
}

impl Small {
    const NOTHING: Self = Self { bytes: [0; decimal::MOST_DIGITS], begin: 0, end: 0 };

    fn of(bytes: &[u8]) -> Self {
        let mut small = Self::NOTHING;
        small.end = u8::try_from(copy(&mut small.bytes, bytes)).unwrap_or(0);
        small
    }

    fn number(number: u64) -> Self {
        let mut small = Self::NOTHING;
        small.end = u8::try_from(decimal::write(number, &mut small.bytes)).unwrap_or(0);
        small
    }

    fn left(&self) -> &[u8] {
        self.bytes.get(self.begin.into()..self.end.into()).unwrap_or(&[])
    }

    fn pass(&mut self, len: usize) {
        self.begin = self.begin.saturating_add(u8::try_from(len).unwrap_or(u8::MAX));
    }
}

/// Of a byte that has one.
fn escape(byte: u8) -> Small {
    match spelling(byte) {
        Spelling::Plain => Small::of(&[byte]),
        Spelling::Letter(letter) => Small::of(&[b'\\', letter]),
        Spelling::Digits => Small::of(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use crate::dtype::Dtype;
    use crate::write::spec::{FileSpec, Placement, TensorSpec};
    use std::string::String;
    use std::vec::Vec;

    const TENSORS: [TensorSpec<'_>; 3] = [
        TensorSpec::new("w", Dtype::F32, &[2, 3]),
        TensorSpec::new("a\u{1}\"é\n", Dtype::U8, &[]),
        TensorSpec::new("b", Dtype::U8, &[0]),
    ];

    fn header(spec: FileSpec<'_>) -> String {
        let plan = spec.sorted(std::vec![0; 100].leak()).expect("it can be written");
        let mut encoder = plan.encoder();
        let mut bytes = std::vec![0; 1000];
        let bytes = encoder.encode(&mut bytes);
        assert_eq!((bytes.len() as u64, encoder.remaining()), (plan.data_start(), 0));
        let (length, json) = bytes.split_at(8);
        assert_eq!(length, (json.len() as u64).to_le_bytes());
        String::from_utf8(json.to_vec()).expect("it is UTF-8")
    }

    #[test]
    fn headers_are_spelled_as_the_reference_spells_them() {
        assert_eq!(header(FileSpec::new(&[])), "{}      ");
        assert_eq!(header(FileSpec::new(&[]).with_metadata(&[])), "{\"__metadata__\":{}}     ");
        assert_eq!(
            header(FileSpec::new(&TENSORS).with_metadata(&[("k\\", "\u{1f}"), ("", "v")])).trim_end(),
            r#"{"__metadata__":{"":"v","k\\":"\u001f"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"a\u0001\"é\n":{"dtype":"U8","shape":[],"data_offsets":[24,25]},"b":{"dtype":"U8","shape":[0],"data_offsets":[25,25]}}"#
        );
    }

    #[test]
    fn padding_is_spelled_as_tensors() {
        assert_eq!(
            header(FileSpec::new(&TENSORS).with_placement(Placement::Padded(64))).trim_end(),
            r#"{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"__padding__.0":{"dtype":"U8","shape":[40],"data_offsets":[24,64]},"a\u0001\"é\n":{"dtype":"U8","shape":[],"data_offsets":[64,65]},"__padding__.1":{"dtype":"U8","shape":[63],"data_offsets":[65,128]},"b":{"dtype":"U8","shape":[0],"data_offsets":[128,128]}}"#
        );
    }

    #[test]
    fn any_buffers_make_the_same_bytes() {
        let spec = FileSpec::new(&TENSORS).with_metadata(&[("k\\", "\u{1f}"), ("", "v")]);
        let mut order = [0; 5];
        let plan = spec.sorted(&mut order).expect("it can be written");
        let whole = plan.encoder().encode(&mut [0; 400]).to_vec();
        for len in 1..400 {
            let (mut encoder, mut bytes, mut buffer) = (plan.encoder(), Vec::<u8>::new(), std::vec![0; len]);
            while let part @ [_, ..] = encoder.encode(&mut buffer) {
                bytes.extend(part);
            }
            assert_eq!(bytes, whole);
            let mut encoder = plan.encoder();
            encoder.skip(len as u64);
            let at = whole.len().min(len);
            assert_eq!((encoder.position(), encoder.encode(&mut [0; 400])), (at as u64, &whole[at..]));
        }
    }
}
