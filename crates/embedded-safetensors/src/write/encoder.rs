//! The bytes of a header, made into buffers of any size.

use super::decimal;
use super::escape::{self, LONGEST_ESCAPE, plain_len};
use super::plan::FilePlan;
use super::text::{HeaderText, Output};
use crate::header::LARGE_SHORTCUTS;
use crate::io::write::PREFIX;
use crate::util::bytes::{copy, front};
use core::cmp::Ordering;
use core::mem::take;

/// Spells the header of a file: the 8 bytes of its length, the JSON, the spaces at its end. It stops where a buffer is full, and goes on
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
        let mut window = Window { room: buffer, piece: 0, place: self.place };
        while self.text.spell(&mut window).is_some() && self.text.advance() {
            (window.piece, window.place) = (0, TextPlace::START);
        }
        self.place = window.place;
        window.room.fill(b' ');
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

/// A place in the text of a part, which has been spelled up to there.
#[derive(Clone, Copy)]
struct TextPlace {
    /// Which piece, counted from 1; 0 before all of them.
    piece: usize,
    /// How many of its bytes are spelled, before they are escaped.
    bytes: usize,
    /// How much is spelled of the next one's escape.
    escape: usize,
}

impl TextPlace {
    const START: Self = Self { piece: 0, bytes: 0, escape: 0 };
}

/// A part goes into the room from the place on where it stopped in another one.
struct Window<'r> {
    room: &'r mut [u8],
    /// The last one that came, counted from 1.
    piece: usize,
    /// Where to go on; then, where it stopped.
    place: TextPlace,
}

impl Window<'_> {
    /// The place from which on the next piece is to be spelled; none where all of it was.
    #[inline]
    fn next_piece(&mut self) -> Option<TextPlace> {
        self.piece = self.piece.wrapping_add(1); // there are fewer than bytes in memory
        match self.piece.cmp(&self.place.piece) {
            Ordering::Less => None,
            Ordering::Equal => Some(self.place),
            Ordering::Greater => Some(TextPlace::START),
        }
    }

    /// Puts as many bytes as have room, and says how many.
    #[inline]
    fn put(&mut self, bytes: &[u8]) -> usize {
        let len = copy(self.room, bytes);
        self.pass(len);
        len
    }

    /// So many bytes of the room are filled.
    #[inline]
    fn pass(&mut self, len: usize) {
        self.room = take(&mut self.room).get_mut(len..).unwrap_or_default();
    }

    #[cold]
    fn stop(&mut self, bytes: usize, escape: usize) -> Option<()> {
        self.place = TextPlace { piece: self.piece, bytes, escape };
        None
    }

    fn put_from(&mut self, text: &[u8], begin: usize) -> Option<()> {
        let left = text.get(begin..).unwrap_or(&[]);
        match self.put(left) {
            len if len < left.len() => self.stop(begin + len, 0),
            _ => Some(()),
        }
    }
}

impl Output for Window<'_> {
    #[inline]
    fn text(&mut self, text: &[u8]) -> Option<()> {
        let Some(place) = self.next_piece() else { return Some(()) };
        // The same with a length that the compiler knows.
        if LARGE_SHORTCUTS && place.bytes == 0 && text.len() <= self.room.len() {
            self.put(text);
            return Some(());
        }
        self.put_from(text, place.bytes)
    }

    #[inline]
    fn number(&mut self, number: u64) -> Option<()> {
        let Some(place) = self.next_piece() else { return Some(()) };
        if let (0, Some(room)) = (place.bytes, self.room.first_chunk_mut()) {
            let len = decimal::write(number, room);
            self.pass(len);
            return Some(());
        }
        let mut digits = [0; decimal::MOST_DIGITS];
        let len = decimal::write(number, &mut digits);
        self.put_from(front(&mut digits, len as u64), place.bytes)
    }

    #[inline]
    fn quoted(&mut self, text: &str) -> Option<()> {
        let Some(mut place) = self.next_piece() else { return Some(()) };
        loop {
            let left = text.as_bytes().get(place.bytes..).unwrap_or(&[]);
            let near = left.get(..self.room.len()).unwrap_or(left);
            let plain = near.get(..plain_len(near)).unwrap_or(near);
            place.bytes += self.put(plain);
            let Some(byte) = left.get(plain.len()) else { return Some(()) };
            let mut escape = [0; LONGEST_ESCAPE];
            let len = escape::write(*byte, &mut escape);
            let escape = front(&mut escape, len as u64).get(place.escape..).unwrap_or(&[]);
            let put = self.put(escape);
            if put < escape.len() {
                return self.stop(place.bytes, place.escape + put);
            }
            (place.bytes, place.escape) = (place.bytes + 1, 0);
        }
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
