//! The bytes of a header, made into buffers of any size.

use super::decimal;
use super::pieces::{Piece, Pieces};
use super::plan::FilePlan;
use crate::bytes::{copy, front};

const SPACES: [u8; 64] = [b' '; 64];

/// Spells the header of a file: the 8 bytes of its length, the JSON, the spaces behind it. It stops where a buffer is full, and goes on
/// in the next one.
///
/// ```
/// use embedded_safetensors::{Dtype, FileSpec, TensorSpec};
///
/// let tensors = [TensorSpec::new("a", Dtype::U8, &[2])];
/// let mut encoder = FileSpec::new(&tensors).in_order()?.encoder();
/// let mut radio = Vec::new();
/// let mut packet = [0; 10];
/// while let bytes @ [_, ..] = encoder.encode(&mut packet) {
///     radio.extend_from_slice(bytes);
/// }
/// assert_eq!(radio, b"\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}   ");
/// # Ok::<(), embedded_safetensors::SpecError>(())
/// ```
///
/// *Memory*: 312 bytes, 232 where pointers have 32 bits.
#[derive(Clone)]
pub struct HeaderEncoder<'a> {
    pieces: Pieces<'a>,
    /// What is to come of a number or an escape; before `text`.
    small: Small,
    /// What is to come of a piece of text.
    text: &'a [u8],
    is_escaped: bool,
    /// How many come behind the last piece.
    spaces: u32,
    left: u64,
    len: u64,
}

impl<'a> HeaderEncoder<'a> {
    pub(super) fn new(plan: &FilePlan<'a>) -> Self {
        let (len, small) = (plan.data_start(), Small::of(&plan.header_len().to_le_bytes()));
        Self {
            pieces: plan.pieces(),
            small,
            text: &[],
            is_escaped: false,
            spaces: plan.spaces(),
            left: len,
            len,
        }
    }

    /// Fills the buffer with the bytes that come next, and gives the part that it has filled: all of it, until there are no more.
    ///
    /// # Panics
    /// Never.
    pub fn encode<'b>(&mut self, buffer: &'b mut [u8]) -> &'b [u8] {
        let mut filled = 0;
        while let Some(room @ [_, ..]) = buffer.get_mut(filled..) {
            let len = self.put(room);
            if len == 0 && !self.refill() {
                break;
            }
            filled += len;
        }
        self.left = self.left.saturating_sub(filled as u64);
        front(buffer, filled as u64)
    }

    /// Passes over so many bytes, or all that are left. It takes the time of making them.
    ///
    /// # Panics
    /// Never.
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

    /// Puts into the room what is there of one piece, and says how much that was.
    fn put(&mut self, room: &mut [u8]) -> usize {
        if self.small.left().is_empty() {
            return if self.is_escaped {
                self.put_escaped(room)
            } else {
                self.put_text(room, self.text.len())
            };
        }
        let len = copy(room, self.small.left());
        self.small.pass(len);
        len
    }

    /// Of the text that comes next, no more than `len` bytes.
    fn put_text(&mut self, room: &mut [u8], len: usize) -> usize {
        let (now, _) = self.text.split_at_checked(len).unwrap_or((&[], &[]));
        let len = copy(room, now);
        self.text = self.text.get(len..).unwrap_or(&[]);
        len
    }

    /// The text up to what must be escaped; where it comes at once, its escape.
    fn put_escaped(&mut self, room: &mut [u8]) -> usize {
        let near = self.text.get(..room.len()).unwrap_or(self.text);
        match near.iter().position(|byte| must_be_escaped(*byte)) {
            None => self.put_text(room, near.len()),
            Some(0) => self.put_escape(room),
            Some(len) => self.put_text(room, len),
        }
    }

    fn put_escape(&mut self, room: &mut [u8]) -> usize {
        let Some((byte, rest)) = self.text.split_first() else { return 0 };
        (self.small, self.text) = (escape(*byte), rest);
        let len = copy(room, self.small.left());
        self.small.pass(len);
        len
    }

    /// Takes up the next piece, if there is one.
    fn refill(&mut self) -> bool {
        self.is_escaped = false;
        match self.pieces.next() {
            Some(Piece::Number(number)) => self.small = Small::number(number),
            Some(Piece::Plain(text)) => self.text = text.as_bytes(),
            Some(Piece::Escaped(text)) => (self.text, self.is_escaped) = (text.as_bytes(), true),
            None => return self.refill_with_spaces(),
        }
        true
    }

    fn refill_with_spaces(&mut self) -> bool {
        let len = SPACES.len().min(self.spaces as usize);
        self.text = SPACES.get(..len).unwrap_or(&[]);
        self.spaces = self.spaces.saturating_sub(64);
        len > 0
    }
}

impl core::fmt::Debug for HeaderEncoder<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HeaderEncoder").field("position", &self.position()).finish_non_exhaustive()
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
    fn of(bytes: &[u8]) -> Self {
        let mut small = Self { bytes: [0; decimal::MOST_DIGITS], begin: 0, end: 0 };
        let len = copy(&mut small.bytes, bytes);
        small.until(len)
    }

    fn number(number: u64) -> Self {
        let mut small = Self { bytes: [0; decimal::MOST_DIGITS], begin: 0, end: 0 };
        let len = decimal::write(number, &mut small.bytes);
        small.until(len)
    }

    fn until(self, len: usize) -> Self {
        Self { end: u8::try_from(len).unwrap_or(0), ..self }
    }

    fn left(&self) -> &[u8] {
        self.bytes.get(self.begin.into()..self.end.into()).unwrap_or(&[])
    }

    fn pass(&mut self, len: usize) {
        self.begin = self.begin.saturating_add(u8::try_from(len).unwrap_or(u8::MAX));
    }
}

const fn must_be_escaped(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}

/// Of a byte that must be.
fn escape(byte: u8) -> Small {
    let letter = match byte {
        8 => b'b',
        9 => b't',
        10 => b'n',
        12 => b'f',
        13 => b'r',
        b'"' | b'\\' => byte,
        _ => return Small::of(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]),
    };
    Small::of(&[b'\\', letter])
}

const fn hex(digit: u8) -> u8 {
    match digit {
        0..=9 => b'0' + digit,
        _ => (b'a' - 10).wrapping_add(digit),
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
