//! Fills values from a slice.

use super::converting::BLOCK;
use super::filling::{Filling, Piece};
use super::region::{Fill, Until};
use super::sliced::Sliced;
use crate::slice::walk::Walk;
use crate::util::bytes::front;
use crate::values::convert::{Conversion, Element};
use crate::values::native::bytes_of_mut;

/// Values that are being filled from a slice.
pub struct Gathering<'b, T: Element> {
    /// The values that are not filled yet. If there are many, the current block is at the front.
    left: &'b mut [T],
    /// How many values are filled.
    count: usize,
    conversion: Conversion<T>,
    /// Fills the bytes of the current block.
    filling: Filling,
    piece: Option<Piece>,
    until: Until,
    /// Space for an element that is wider than the last value.
    pair: [T; 2],
}

impl<'b, T: Element> Gathering<'b, T> {
    pub(crate) fn new(walk: Walk, conversion: Conversion<T>, values: &'b mut [T], until: Until) -> Self {
        let (left, filling) = (values, Filling::new(walk, 0));
        let pair = [T::ZERO; 2];
        let mut gathering = Self { left, count: 0, conversion, filling, piece: None, until, pair };
        gathering.begin_block();
        gathering
    }

    fn begin_block(&mut self) {
        let len = self.room().len();
        self.filling = Filling::new(self.filling.walk, self.conversion.count(len) as u64);
    }

    fn end_block(&mut self, is_last: bool) {
        let conversion = self.conversion;
        let values = self.filling.filled;
        // If elements are wider than values, each takes the space of two.
        let room = if self.conversion.count(2) < 2 { values * 2 } else { values };
        let is_alone = self.is_alone();
        let converted = front(self.room(), room);
        conversion.apply(0, converted);
        if is_alone {
            self.left.iter_mut().zip(self.pair).for_each(|(value, of_pair)| *value = of_pair);
        }
        let done = front(self.left, values).len();
        self.count += done;
        let left = core::mem::take(&mut self.left).get_mut(done..).unwrap_or_default();
        self.left = if is_last { &mut [] } else { left };
    }

    /// Returns the memory to read a block into.
    fn room(&mut self) -> &mut [T] {
        if self.is_alone() {
            return &mut self.pair;
        }
        match self.conversion.is_plain() {
            true => self.left,
            false => front(self.left, BLOCK as u64 >> size_of::<T>().trailing_zeros()),
        }
    }

    /// Whether only one value is left, which is too small for its element.
    fn is_alone(&self) -> bool {
        !self.left.is_empty() && self.conversion.count(self.left.len()) == 0
    }
}

impl<T: Element> Fill<Sliced> for Gathering<'_, T> {
    fn bytes(&mut self, region: &Sliced) -> Option<(u64, &mut [u8], usize)> {
        let capacity = size_of_val(self.room());
        let piece = self.filling.next(&region.plan, capacity)?;
        self.piece = Some(piece);
        Some((region.start + piece.offset, piece.room_in(bytes_of_mut(self.room())), piece.len))
    }

    fn convert(&mut self, region: &Sliced) {
        let Some(piece) = self.piece.take() else { return };
        let mut filling = self.filling;
        filling.keep(&region.plan, &piece, bytes_of_mut(self.room()));
        self.filling = filling;
        let is_last = self.until.is_met(&piece);
        if is_last || filling.is_full() {
            self.end_block(is_last);
            self.begin_block();
        }
    }

    fn end(self, region: &mut Sliced, _: usize) -> usize {
        region.walk = self.filling.walk;
        self.count
    }
}
