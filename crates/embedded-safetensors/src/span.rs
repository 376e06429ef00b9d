//! Arithmetic of a tensor that is read piece by piece: how long the next piece is.

use crate::bytes::{front, index_below};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::location::Location;

/// A tensor in a file, and how far it has been read.
///
/// Streams call [`piece`](Self::piece) and [`advance`](Self::advance) once for every chunk, so these two do little:
/// whatever makes a piece less than a plain whole number of elements is noted in `step` beforehand.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Span {
    /// Where in the file the next byte lies.
    offset: u64,
    /// How many bytes are still to come.
    left: u64,
    /// Of the tensor.
    len: u64,
    /// Pieces end at multiples of this in the file, where they can. A power of two.
    block: u64,
    /// One less than the unit of bytes in which a piece may be cut without further thought.
    step: usize,
    dtype: Dtype,
}

/// A piece must be thought about: no buffer is as long as this.
const CAREFULLY: usize = usize::MAX;

impl Span {
    /// # Errors
    /// [`ErrorKind::OutsideData`] when the tensor does not lie in data of this length.
    pub(crate) fn new(tensor: Location, data_start: u64, data_len: u64) -> Result<Self, Error> {
        let Location { begin, end, .. } = tensor;
        if begin > end || end > data_len {
            return Err(ErrorKind::OutsideData { end, data_len }.at(data_start + data_len));
        }
        Ok(Self::of(tensor, data_start))
    }

    /// As [`new`](Self::new), of a tensor that is known to lie in the data.
    pub(crate) fn of(tensor: Location, data_start: u64) -> Self {
        let Location { dtype, begin, end } = tensor;
        let len = end.wrapping_sub(begin);
        let span = Self { offset: data_start + begin, left: len, len, block: 1, step: CAREFULLY, dtype };
        Self { step: span.step(), ..span }
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
        self.block = block;
        self.step = self.step();
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
        self.step = self.step();
        Ok(())
    }

    /// Goes on behind a piece that [`piece`](Self::piece) gave.
    pub(crate) fn advance(&mut self, piece: usize) {
        self.offset += piece as u64;
        self.left = self.left.wrapping_sub(piece as u64); // cannot wrap: a piece is a part of what is left
        if self.step == CAREFULLY {
            self.step = self.step();
        }
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

    /// The part of `buffer` for the next piece, empty when there is none: as much as there is room for, up to the
    /// end of a block that ends with an element; where there is none, up to the end of an element.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when there is no room for an element.
    #[inline]
    pub(crate) fn piece<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        let len = buffer.len() & !self.step;
        if len == 0 || self.left <= buffer.len() as u64 {
            return self.careful_piece(buffer);
        }
        match buffer.split_at_mut_checked(len) {
            Some((piece, _)) => Ok(piece),
            None => Ok(&mut []),
        }
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

    #[inline(never)]
    fn careful_piece<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        let capacity = buffer.len();
        let room = front(buffer, self.left);
        if room.len() as u64 == self.left {
            return Ok(room);
        }
        let len = match self.border(room.len()) {
            0 => room.len().saturating_sub(self.begun_element(room.len())),
            border => border,
        };
        match room.split_at_mut_checked(len) {
            Some((piece, _)) if len > 0 => Ok(piece),
            _ => Err(self.no_room(capacity)),
        }
    }

    /// From the border of an element that is one of a block too, pieces of whole blocks and elements follow
    /// each other without further thought.
    fn step(&self) -> usize {
        let (unit, block) = (self.unit(), self.block);
        let is_border =
            unit.is_power_of_two() && remainder(self.position(), unit) == 0 && self.offset & (block - 1) == 0;
        match index_below(block.max(unit.into()), CAREFULLY) {
            Some(step) if is_border => step - 1,
            _ => CAREFULLY,
        }
    }

    /// Where in the file the tensor begins.
    pub(crate) fn start(&self) -> u64 {
        self.offset.wrapping_sub(self.position())
    }

    /// Where the last border of a block in the next `len` bytes is one of an element too; 0 when none is.
    fn border(&self, len: usize) -> usize {
        let unit = self.unit();
        // In threes such borders are three blocks apart: for less, chunks would only be short now and then.
        if unit == 3 && (len as u64) < self.block.saturating_mul(3) {
            return 0;
        }
        let mut border = len.saturating_sub(self.begun_block(len));
        for _ in 0..unit {
            if self.begun_element(border) == 0 {
                return border;
            }
            let block = index_below(self.block, usize::MAX).unwrap_or(usize::MAX);
            border = border.saturating_sub(block);
        }
        0
    }

    /// How many of the next `len` bytes belong to a block that goes on behind them.
    fn begun_block(&self, len: usize) -> usize {
        let over = (self.offset + len as u64) & (self.block - 1);
        index_below(over, usize::MAX).unwrap_or(usize::MAX)
    }

    /// How many of the next `len` bytes belong to an element that goes on behind them.
    fn begun_element(&self, len: usize) -> usize {
        usize::from(remainder(self.position() + len as u64, self.unit()))
    }

    /// In how many bytes elements come whole.
    fn unit(&self) -> u8 {
        match self.dtype.bits() {
            4 => 1, // 2 elements
            6 => 3, // 4 elements
            bits => bits >> 3,
        }
    }

    fn no_room(&self, capacity: usize) -> Error {
        let needed = self.unit() - remainder(self.position(), self.unit());
        let capacity = capacity as u64;
        ErrorKind::BufferLength { needed: needed.into(), capacity }.at(self.offset + capacity)
    }

    fn outside(&self, asked: u64) -> Error {
        ErrorKind::OutsideTensor { asked, len: self.len }.at(self.start() + self.len)
    }
}

/// `number` modulo `unit`, which is 3 or a power of two, without a division of 64 bits.
fn remainder(number: u64, unit: u8) -> u8 {
    let [low, ..] = number.to_le_bytes();
    match unit {
        // 256 leaves 1, so the bytes may be summed up.
        3 => {
            let sum: u16 = number.to_le_bytes().into_iter().map(u16::from).sum();
            u8::try_from(sum % 3).unwrap_or(0)
        }
        _ => low & unit.wrapping_sub(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(dtype: Dtype, start: u64, len: u64) -> Span {
        let tensor = Location { dtype, begin: 0, end: len };
        Span::new(tensor, start, len).expect("it lies in the data")
    }

    /// The lengths of all pieces of a tensor.
    fn pieces(mut span: Span, capacity: usize) -> [usize; 6] {
        let mut lens = [0; 6];
        for len in &mut lens {
            *len = span.piece(&mut [0; 64][..capacity]).expect("there is room").len();
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
    fn from_the_first_border_on_no_piece_needs_thought() {
        let mut aligned = span(Dtype::F32, 100, 600);
        aligned.set_block(16).expect("a power of two");
        assert_eq!(aligned.step, CAREFULLY);
        aligned.advance(aligned.piece(&mut [0; 40]).expect("there is room").len());
        assert_eq!((aligned.offset(), aligned.step), (128, 15));
        let mut inside = span(Dtype::F64, 8, 600);
        inside.seek(3).expect("it is inside");
        assert_eq!(inside.step, CAREFULLY);
        inside.advance(inside.piece(&mut [0; 40]).expect("there is room").len());
        assert_eq!((inside.position(), inside.step), (40, 7));
        assert_eq!(span(Dtype::F6_E3M2, 8, 600).step, CAREFULLY);
        let mut end = span(Dtype::U8, 8, 11);
        end.set_block(4).expect("a power of two");
        assert_eq!(pieces(end, 11), [11, 0, 0, 0, 0, 0], "what ends the tensor goes before blocks");
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
        let error = inside.piece(&mut [0; 2]).expect_err("the rest of the element has 3 bytes");
        assert_eq!(error, ErrorKind::BufferLength { needed: 3, capacity: 2 }.at(15));
    }

    #[test]
    fn remainders_are_right() {
        for number in (0..1000).chain((0..64).map(|bit| 1 << bit)).chain([u64::MAX]) {
            for unit in [1, 2, 3, 4, 8] {
                assert_eq!(u64::from(remainder(number, unit)), number % u64::from(unit), "{number} % {unit}");
            }
        }
    }
}
