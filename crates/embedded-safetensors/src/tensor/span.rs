//! Arithmetic of a tensor that is read piece by piece: how long the next piece is.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::tensor::location::Location;
use crate::util::bytes::{front, low_usize};

/// A tensor in a file, and how far it has been read.
///
/// Streams call [`piece`](Self::piece) and [`advance`](Self::advance) once for every chunk, so these two do little.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Span {
    /// Where in the file the next byte lies.
    offset: u64,
    /// How many bytes are still to come.
    left: u64,
    /// Of the tensor.
    len: u64,
    /// Pieces end where none of these bits is set in the offset, where they can: one less than a power of two.
    block: usize,
    dtype: Dtype,
    /// In how many bytes elements come whole: 3, or a power of two.
    unit: u8,
    /// Whether pieces may end anywhere between elements, and these are a power of two long.
    is_plain: bool,
}

impl Span {
    /// Of a tensor that lies in the data.
    pub(crate) const fn of(tensor: Location, data_start: u64) -> Self {
        let Location { dtype, begin, end } = tensor;
        let (len, unit) = (end.wrapping_sub(begin), unit(dtype));
        Self { offset: data_start + begin, left: len, len, block: 0, dtype, unit, is_plain: unit != 3 }
    }

    pub(crate) const fn dtype(&self) -> Dtype {
        self.dtype
    }

    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    pub(crate) const fn position(&self) -> u64 {
        self.len - self.left
    }

    pub(crate) const fn remaining(&self) -> u64 {
        self.left
    }

    /// Where in the file the next byte lies.
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    /// # Errors
    /// [`ErrorKind::Block`] unless it is a power of two.
    pub(crate) fn set_block(&mut self, block: u64) -> Result<(), Error> {
        if !block.is_power_of_two() {
            return Err(ErrorKind::Block { asked: block }.at(self.start()));
        }
        // Blocks as large as all that can be addressed are those of that size: no buffer has one.
        self.block = usize::try_from(block - 1).unwrap_or(usize::MAX);
        self.is_plain = self.unit != 3 && self.block == 0;
        Ok(())
    }

    /// Goes on at this byte of the tensor.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideTensor`] beyond its end; it then stays where it was.
    pub(crate) fn seek(&mut self, position: u64) -> Result<(), Error> {
        let Some(left) = self.len.checked_sub(position) else { return Err(self.outside(position)) };
        self.offset = self.start() + position;
        self.left = left;
        Ok(())
    }

    /// Goes on behind a piece that [`piece`](Self::piece) gave.
    pub(crate) fn advance(&mut self, piece: usize) {
        self.offset += piece as u64;
        self.left = self.left.wrapping_sub(piece as u64); // cannot wrap: a piece is a part of what is left
    }

    /// Goes on behind so many bytes.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub(crate) fn skip(&mut self, bytes: u64) -> Result<(), Error> {
        self.seek(self.position().saturating_add(bytes))
    }

    /// The part of `buffer` that the tensor fills from byte `position` on, and where in the file it lies.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideTensor`] beyond the tensor's end.
    pub(crate) fn fill<'b>(&self, position: u64, buffer: &'b mut [u8]) -> Result<(u64, &'b mut [u8]), Error> {
        let Some(left) = self.len.checked_sub(position) else { return Err(self.outside(position)) };
        Ok((self.start() + position, front(buffer, left)))
    }

    /// How long the next piece is in a buffer of this length: as long as there is room, up to the end of a block that ends
    /// with an element; where there is none, up to the end of an element. 0 at the end of the tensor; 0, or more than the
    /// buffer has, where there is [no room](Self::no_room).
    #[inline]
    pub(crate) fn piece(&self, capacity: usize) -> usize {
        if self.left <= capacity as u64 {
            low_usize(self.left)
        } else if self.is_plain {
            capacity.wrapping_sub(self.begun_even(capacity))
        } else {
            self.careful_piece(capacity)
        }
    }

    // By value, so that a stream may keep itself in registers.
    #[inline(never)] // most streams never ask
    fn careful_piece(self, capacity: usize) -> usize {
        let border = if self.block > 0 { self.border(capacity) } else { 0 };
        if border > 0 { border } else { capacity.wrapping_sub(self.begun_element(capacity)) }
    }

    /// Why no piece goes into a buffer of this length: there is no room for an element.
    #[inline]
    pub(crate) fn no_room(&self, capacity: usize) -> Error {
        let needed = (usize::from(self.unit) - self.begun_element(0)) as u64;
        let capacity = capacity as u64;
        ErrorKind::BufferLength { needed, capacity }.at(self.offset + capacity)
    }

    /// The part of `buffer` that all the rest of the tensor fills.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when it does not fit.
    pub(crate) fn rest<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        let (needed, capacity) = (self.left, buffer.len() as u64);
        if needed > capacity {
            return Err(ErrorKind::BufferLength { needed, capacity }.at(self.offset + capacity));
        }
        Ok(front(buffer, needed))
    }

    /// Where in the file the tensor begins.
    pub(crate) fn start(&self) -> u64 {
        self.offset.wrapping_sub(self.position())
    }

    /// Where the last border of a block in the next `len` bytes is one of an element too; 0 when none is.
    fn border(&self, len: usize) -> usize {
        let mut border = len.saturating_sub(low_usize(self.offset).wrapping_add(len) & self.block);
        if self.unit == 3 {
            // Such borders are three blocks apart: for less, chunks would only be short now and then.
            if len <= self.block.saturating_mul(3).saturating_add(2) {
                return 0;
            }
            for _ in 0..2 {
                if self.begun_element(border) > 0 {
                    border = border.saturating_sub(self.block + 1);
                }
            }
        }
        // Of the others either the last one is, or none.
        if self.begun_element(border) == 0 { border } else { 0 }
    }

    /// How many of the next `len` bytes belong to an element that goes on behind them.
    fn begun_element(&self, len: usize) -> usize {
        if self.unit == 3 { usize::from(thirds(self.position() + len as u64)) } else { self.begun_even(len) }
    }

    /// The same, of elements that are a power of two long.
    #[inline]
    const fn begun_even(&self, len: usize) -> usize {
        low_usize(self.len).wrapping_sub(low_usize(self.left)).wrapping_add(len) & (self.unit as usize - 1)
    }

    fn outside(&self, asked: u64) -> Error {
        ErrorKind::OutsideTensor { asked, len: self.len }.at(self.start() + self.len)
    }
}

/// In how many bytes elements come whole.
const fn unit(dtype: Dtype) -> u8 {
    match dtype.bits() {
        6 => 3,   // 4 elements
        ..8 => 1, // 2 or more elements
        bits => bits >> 3,
    }
}

/// `number` modulo 3, without a division of 64 bits.
#[inline(never)]
fn thirds(number: u64) -> u8 {
    // 256 leaves 1, so the bytes may be summed up.
    let sum: u16 = number.to_le_bytes().into_iter().map(u16::from).sum();
    u8::try_from(sum % 3).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(dtype: Dtype, start: u64, len: u64) -> Span {
        Span::of(Location { dtype, begin: 0, end: len }, start)
    }

    /// The lengths of all pieces of a tensor.
    fn pieces(mut span: Span, capacity: usize) -> [usize; 6] {
        let mut lens = [0; 6];
        for len in &mut lens {
            *len = span.piece(capacity);
            assert!(*len > 0 || span.remaining() == 0, "there is room");
            span.advance(*len);
        }
        lens
    }

    #[test]
    fn pieces_hold_whole_elements() {
        assert_eq!(pieces(span(Dtype::F32, 100, 12), 11), [8, 4, 0, 0, 0, 0]);
        assert_eq!(pieces(span(Dtype::F6_E2M3, 8, 9), 5), [3, 3, 3, 0, 0, 0]);
        assert_eq!(pieces(span(Dtype::F4, 8, 3), 2), [2, 1, 0, 0, 0, 0]);
        assert_eq!(pieces(span(Dtype::U8, 8, 0), 2), [0; 6]);
    }

    #[test]
    fn pieces_end_where_blocks_end() {
        let mut aligned = span(Dtype::F32, 100, 60);
        aligned.set_block(16).expect("a power of two");
        assert_eq!(pieces(aligned, 40), [28, 32, 0, 0, 0, 0]);
        assert_eq!(pieces(aligned, 16), [12, 16, 16, 16, 0, 0]);
        assert_eq!(pieces(aligned, 8), [8, 4, 8, 8, 8, 8], "smaller than a block");
    }

    #[test]
    fn what_ends_the_tensor_goes_before_blocks() {
        let mut end = span(Dtype::U8, 8, 11);
        end.set_block(4).expect("a power of two");
        assert_eq!(pieces(end, 11), [11, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn blocks_that_no_buffer_has_do_not_count() {
        for block in [1 << 31, 1 << 32, 1 << 63] {
            let mut long = span(Dtype::F32, 8, 40);
            long.set_block(block).expect("a power of two");
            assert_eq!(pieces(long, 11), [8, 8, 8, 8, 8, 0]);
        }
    }

    #[test]
    fn where_blocks_and_elements_share_no_border_there_are_no_more_pieces_than_without() {
        let mut across = span(Dtype::F64, 12, 48);
        across.set_block(16).expect("a power of two");
        assert_eq!(pieces(across, 8), [8; 6]);
        assert_eq!(pieces(across, 32), [32, 16, 0, 0, 0, 0]);
        let mut in_threes = span(Dtype::F6_E2M3, 32, 144);
        in_threes.set_block(16).expect("a power of two");
        assert_eq!(pieces(in_threes, 32), [30, 30, 30, 30, 24, 0]);
        assert_eq!(pieces(in_threes, 50), [48, 48, 48, 0, 0, 0]);
    }

    #[test]
    fn a_piece_from_inside_an_element_ends_with_an_element() {
        let mut inside = span(Dtype::F32, 8, 12);
        inside.seek(5).expect("it is inside");
        assert_eq!(pieces(inside, 6), [3, 4, 0, 0, 0, 0]);
        assert!(!(1..=2).contains(&inside.piece(2)), "the rest of the element has 3 bytes");
        assert_eq!(inside.no_room(2), ErrorKind::BufferLength { needed: 3, capacity: 2 }.at(15));
    }

    #[test]
    fn remainders_are_right() {
        for number in (0..1000).chain((0..64).map(|bit| 1 << bit)).chain([u64::MAX]) {
            assert_eq!(u64::from(thirds(number)), number % 3, "{number}");
        }
    }
}
