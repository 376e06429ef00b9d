//! Where a tensor is in a file, and how long the next piece is when it is read piece by piece.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::tensor::info::TensorInfo;
use crate::util::bytes::{front, low_usize};

/// The location of a tensor's bytes, and the width of its elements.
///
/// *Memory*: 24 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Location {
    pub(crate) dtype: Dtype,
    /// What the header of its model is recognised by; 0 if that is not known.
    pub(crate) header: u32,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

/// The data of an open model.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    pub(crate) start: u64,
    pub(crate) len: u64,
    /// What the header is recognised by. Not 0.
    pub(crate) header: u32,
}

/// A value that knows where a tensor is: a [`TensorInfo`], a [`Query`](crate::query::Query) that was found, a
/// tensor of an [`Index`](crate::index::Index).
pub trait Located {
    /// Returns the location of the tensor.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when a query did not find it, or has not run yet.
    fn locate(&self) -> Result<Location, Error>;

    /// Returns the tensor's dimensions, outermost first. Not meaningful if [`locate`](Self::locate) fails.
    fn dims(&self) -> &[u64];
}

impl<T: Located + ?Sized> Located for &T {
    fn locate(&self) -> Result<Location, Error> {
        (**self).locate()
    }

    fn dims(&self) -> &[u64] {
        (**self).dims()
    }
}

impl Located for TensorInfo {
    fn locate(&self) -> Result<Location, Error> {
        Ok(Location { dtype: self.dtype(), header: 0, begin: self.begin(), end: self.end() })
    }

    fn dims(&self) -> &[u64] {
        self.shape().dims()
    }
}

/// A tensor in a file, and how far it has been read.
///
/// Streams call [`piece`](Self::piece) and [`advance`](Self::advance) once for every chunk, so these two do
/// little.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Span {
    /// The offset of the next byte in the file.
    offset: u64,
    /// How many bytes remain.
    left: u64,
    /// The length of the tensor.
    len: u64,
    /// The block length, a power of two, less one. Where possible, pieces end at offsets in which none of
    /// these bits is set.
    block: usize,
    dtype: Dtype,
    /// The length of the smallest group of whole elements: 3 bytes, or a power of two.
    unit: u8,
}

impl Span {
    /// Creates the span of a tensor that is inside the data.
    pub(crate) const fn of(tensor: Location, data_start: u64) -> Self {
        let Location { dtype, begin, end, .. } = tensor;
        let (len, unit) = (end.wrapping_sub(begin), unit(dtype));
        Self { offset: data_start + begin, left: len, len, block: 0, dtype, unit }
    }

    pub(crate) const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns the length of the smallest group of whole elements.
    #[cfg(feature = "embedded-io-async")]
    pub(crate) const fn unit(&self) -> u8 {
        self.unit
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

    /// Returns the offset of the next byte in the file.
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Sets the block length.
    ///
    /// # Errors
    /// [`ErrorKind::Block`] unless it is a power of two.
    pub(crate) fn set_block(&mut self, block: u64) -> Result<(), Error> {
        if !block.is_power_of_two() {
            return Err(ErrorKind::Block { asked: block }.at(self.start()));
        }
        // A block larger than the address space counts as one of that size: no buffer holds either.
        self.block = usize::try_from(block - 1).unwrap_or(usize::MAX);
        Ok(())
    }

    /// Continues at this byte of the tensor.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideTensor`] beyond its end; the position is then unchanged.
    pub(crate) fn seek(&mut self, position: u64) -> Result<(), Error> {
        let Some(left) = self.len.checked_sub(position) else { return Err(self.outside(position)) };
        self.offset = self.start() + position;
        self.left = left;
        Ok(())
    }

    /// Continues after a piece that [`piece`](Self::piece) returned.
    pub(crate) fn advance(&mut self, piece: usize) {
        self.offset += piece as u64;
        self.left = self.left.wrapping_sub(piece as u64); // cannot wrap: a piece is a part of the rest
    }

    /// Skips this many bytes.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub(crate) fn skip(&mut self, bytes: u64) -> Result<(), Error> {
        self.seek(self.position().saturating_add(bytes))
    }

    /// Returns where in the file byte `position` of the tensor is, and the part of `buffer` that the tensor
    /// fills from there on.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideTensor`] beyond the tensor's end.
    pub(crate) fn fill<'b>(&self, position: u64, buffer: &'b mut [u8]) -> Result<(u64, &'b mut [u8]), Error> {
        let Some(left) = self.len.checked_sub(position) else { return Err(self.outside(position)) };
        Ok((self.start() + position, front(buffer, left)))
    }

    /// Returns the length of the next piece for a buffer of this length: as long as fits, up to the end of a
    /// block that ends with an element; if there is none, up to the end of an element. Returns 0 at the end
    /// of the tensor; 0, or more than the buffer has, if [no element fits](Self::no_room).
    #[inline]
    pub(crate) fn piece(&self, capacity: usize) -> usize {
        if self.left <= capacity as u64 {
            low_usize(self.left)
        } else if self.block == 0 {
            capacity.wrapping_sub(self.partial_element(capacity))
        } else {
            self.piece_to_boundary(capacity)
        }
    }

    // By value, so that a stream may keep itself in registers.
    #[inline(never)] // most streams never call it
    fn piece_to_boundary(self, capacity: usize) -> usize {
        let boundary = self.boundary(capacity);
        if boundary > 0 { boundary } else { capacity.wrapping_sub(self.partial_element(capacity)) }
    }

    /// Returns the error for a buffer of this length, which is too small for an element.
    #[inline]
    pub(crate) fn no_room(&self, capacity: usize) -> Error {
        let needed = (usize::from(self.unit) - self.partial_element(0)) as u64;
        let capacity = capacity as u64;
        ErrorKind::BufferLength { needed, capacity }.at(self.offset + capacity)
    }

    /// Returns the part of `buffer` that the rest of the tensor fills.
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

    /// Returns where in the file the tensor begins.
    pub(crate) const fn start(&self) -> u64 {
        self.offset.wrapping_sub(self.position())
    }

    /// Returns the last boundary of a block in the next `len` bytes that is also one of an element; 0 if
    /// there is none.
    fn boundary(&self, len: usize) -> usize {
        let mut boundary = len.saturating_sub(low_usize(self.offset).wrapping_add(len) & self.block);
        if self.unit == 3 {
            // Such boundaries are three blocks apart. In a smaller buffer they would only make a chunk short
            // now and then.
            if len <= self.block.saturating_mul(3).saturating_add(2) {
                return 0;
            }
            for _ in 0..2 {
                if self.partial_element(boundary) > 0 {
                    boundary = boundary.saturating_sub(self.block + 1);
                }
            }
        }
        // For other elements, either the last boundary is one or none is.
        if self.partial_element(boundary) == 0 { boundary } else { 0 }
    }

    /// Returns how many of the next `len` bytes belong to an element that continues after them.
    #[inline]
    fn partial_element(&self, len: usize) -> usize {
        if self.unit == 3 {
            usize::from(modulo_3(self.position() + len as u64))
        } else {
            // Elements are a power of two long.
            low_usize(self.len).wrapping_sub(low_usize(self.left)).wrapping_add(len)
                & (self.unit as usize - 1)
        }
    }

    fn outside(&self, asked: u64) -> Error {
        ErrorKind::OutsideTensor { asked, len: self.len }.at(self.start() + self.len)
    }
}

/// Returns the length in bytes of the smallest group of whole elements.
pub(crate) const fn unit(dtype: Dtype) -> u8 {
    match dtype.bits() {
        6 => 3,   // 4 elements
        ..8 => 1, // 2 or more elements
        bits => bits >> 3,
    }
}

/// Returns `number` modulo 3, without a 64-bit division.
#[inline(never)]
fn modulo_3(number: u64) -> u8 {
    // 256 modulo 3 is 1, so the sum of the bytes has the same remainder.
    let mut left = number;
    while left > 0xFF {
        left = (left & 0xFF) + (left >> 8);
    }
    u8::try_from(left).unwrap_or(0) % 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(dtype: Dtype, start: u64, len: u64) -> Span {
        Span::of(Location { dtype, header: 0, begin: 0, end: len }, start)
    }

    /// Returns the lengths of all pieces of a tensor.
    fn pieces(mut span: Span, capacity: usize) -> [usize; 6] {
        let mut lens = [0; 6];
        for len in &mut lens {
            *len = span.piece(capacity);
            assert!(*len > 0 || span.remaining() == 0, "an element fits");
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
    fn pieces_end_at_block_boundaries() {
        let mut aligned = span(Dtype::F32, 100, 60);
        aligned.set_block(16).expect("a power of two");
        assert_eq!(pieces(aligned, 40), [28, 32, 0, 0, 0, 0]);
        assert_eq!(pieces(aligned, 16), [12, 16, 16, 16, 0, 0]);
        assert_eq!(pieces(aligned, 8), [8, 4, 8, 8, 8, 8], "smaller than a block");
    }

    #[test]
    fn end_of_tensor_takes_precedence_over_blocks() {
        let mut end = span(Dtype::U8, 8, 11);
        end.set_block(4).expect("a power of two");
        assert_eq!(pieces(end, 11), [11, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn blocks_larger_than_any_buffer_are_ignored() {
        for block in [1 << 31, 1 << 32, 1 << 63] {
            let mut long = span(Dtype::F32, 8, 40);
            long.set_block(block).expect("a power of two");
            assert_eq!(pieces(long, 11), [8, 8, 8, 8, 8, 0]);
        }
    }

    #[test]
    fn blocks_without_element_boundaries_add_no_pieces() {
        let mut across = span(Dtype::F64, 12, 48);
        across.set_block(16).expect("a power of two");
        assert_eq!(pieces(across, 8), [8; 6]);
        assert_eq!(pieces(across, 32), [32, 16, 0, 0, 0, 0]);
        let mut in_threes = span(Dtype::F6_E2M3, 32, 144);
        in_threes.set_block(16).expect("a power of two");
        assert_eq!(pieces(in_threes, 32), [30, 30, 30, 30, 24, 0]);
        assert_eq!(pieces(in_threes, 50), [48, 48, 48, 0, 0, 0]);
        assert_eq!(pieces(in_threes, 66), [48, 48, 48, 0, 0, 0], "one block back");
        assert_eq!(pieces(in_threes, 82), [48, 48, 48, 0, 0, 0], "two blocks back");
    }

    #[test]
    fn piece_from_inside_element_ends_with_element() {
        let mut inside = span(Dtype::F32, 8, 12);
        inside.seek(5).expect("inside the tensor");
        assert_eq!(pieces(inside, 6), [3, 4, 0, 0, 0, 0]);
        assert!(!(1..=2).contains(&inside.piece(2)), "the rest of the element has 3 bytes");
        assert_eq!(inside.no_room(2), ErrorKind::BufferLength { needed: 3, capacity: 2 }.at(15));
    }

    #[test]
    fn modulo_3_is_remainder() {
        for number in (0..1000).chain((0..64).map(|bit| 1 << bit)).chain([u64::MAX]) {
            assert_eq!(u64::from(modulo_3(number)), number % 3, "{number}");
        }
    }
}
