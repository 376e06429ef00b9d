//! Values on their way to being filled from a slice.

use crate::error::Error;
use crate::reader::filling::{Filling, Piece};
use crate::reader::sliced::Place;
use crate::reader::turning::BLOCK;
use crate::slice::plan::SlicePlan;
use crate::slice::walk::Walk;
use crate::util::bytes::front;
use crate::values::convert::{Conversion, Element, Loss, values_of_element};
use crate::values::native::bytes_of_mut;

/// How far a buffer is filled.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Full,
    /// Until a piece was cut: for the rest of the buffer there would be many small reads.
    Cut,
}

impl Until {
    pub(crate) const fn is_met(self, piece: &Piece) -> bool {
        match self {
            Self::Full => false,
            Self::Cut => piece.is_cut,
        }
    }
}

impl Place {
    /// How elements become values, if there is room for so many of them.
    ///
    /// # Errors
    /// As [`Conversion::of`]; [`ErrorKind::BufferLength`](crate::ErrorKind::BufferLength).
    pub(crate) fn values<T: Element>(
        &self,
        loss: Loss,
        values: &[T],
        elements: u64,
    ) -> Result<Conversion<T>, Error> {
        let conversion = Conversion::of(self.plan.dtype(), loss).map_err(|kind| kind.at(self.start))?;
        let needed = elements.min(self.walk.left).saturating_mul(values_of_element(self.plan.dtype()));
        if needed > values.len() as u64 {
            let needed = needed.saturating_mul(size_of::<T>() as u64);
            return Err(self.no_room(needed, size_of_val(values)));
        }
        Ok(conversion)
    }
}

/// Values that are being filled from a slice. Whoever drives it reads what [`bytes`](Self::bytes) asks for, then calls
/// [`turn`](Self::turn), until nothing is asked for.
pub(crate) struct Gathering<'b, T: Element> {
    /// The values that are not yet there; those of a block, where there are many, at the front.
    left: &'b mut [T],
    /// How many values are there.
    count: usize,
    conversion: Conversion<T>,
    /// Of the bytes of a block.
    filling: Filling,
    piece: Option<Piece>,
    values_of_element: u64,
    until: Until,
    /// Room for an element that is wider than the last value.
    pair: [T; 2],
}

impl<'b, T: Element> Gathering<'b, T> {
    pub(crate) fn new(place: &Place, conversion: Conversion<T>, values: &'b mut [T], until: Until) -> Self {
        let values_of_element = values_of_element(place.plan.dtype());
        let (left, filling) = (values, Filling::new(place.walk, 0));
        let pair = [T::ZERO; 2];
        let mut gathering =
            Self { left, count: 0, conversion, filling, piece: None, values_of_element, until, pair };
        gathering.begin_block();
        gathering
    }

    /// The bytes to be read next, and where in the tensor they lie. Nothing once all values are there.
    pub(crate) fn bytes(&mut self, plan: &SlicePlan) -> Option<(u64, &mut [u8])> {
        let capacity = size_of_val(self.room());
        let piece = self.filling.next(plan, capacity)?;
        self.piece = Some(piece);
        Some((piece.offset, piece.room_in(bytes_of_mut(self.room()))))
    }

    /// Keeps what was read, and turns it into values when a block is full.
    pub(crate) fn turn(&mut self, plan: &SlicePlan) {
        let Some(piece) = self.piece.take() else { return };
        let mut filling = self.filling;
        filling.keep(plan, &piece, bytes_of_mut(self.room()));
        self.filling = filling;
        let is_last = self.until.is_met(&piece);
        if is_last || filling.is_full() {
            self.end_block(is_last);
            self.begin_block();
        }
    }

    /// Where the slice goes on behind the values that are there, and how many these are.
    pub(crate) fn end(self) -> (Walk, usize) {
        (self.filling.walk, self.count)
    }

    fn begin_block(&mut self) {
        let len = self.room().len();
        let values = self.conversion.count(len) as u64;
        let elements = if self.values_of_element > 1 { values >> 1 } else { values };
        self.filling = Filling::new(self.filling.walk, elements);
    }

    fn end_block(&mut self, is_last: bool) {
        let conversion = self.conversion;
        let values = self.filling.filled * self.values_of_element;
        // Elements wider than values have room in twice as many.
        let room = if self.conversion.count(2) < 2 { values * 2 } else { values };
        let is_alone = self.is_alone();
        let turned = front(self.room(), room);
        conversion.apply(0, turned);
        if is_alone {
            self.left.iter_mut().zip(self.pair).for_each(|(value, of_pair)| *value = of_pair);
        }
        let done = front(self.left, values).len();
        self.count += done;
        let left = core::mem::take(&mut self.left).get_mut(done..).unwrap_or_default();
        self.left = if is_last { &mut [] } else { left };
    }

    /// The memory that a block is read into.
    fn room(&mut self) -> &mut [T] {
        if self.is_alone() {
            return &mut self.pair;
        }
        match self.conversion.is_plain() {
            true => self.left,
            false => front(self.left, BLOCK as u64 >> size_of::<T>().trailing_zeros()),
        }
    }

    /// Whether one value is left that has no room for its element.
    fn is_alone(&self) -> bool {
        !self.left.is_empty() && self.conversion.count(self.left.len()) == 0
    }
}
