//! Values filled from storage, through the memory of the values alone.

use super::place::Place;
use crate::bytes::index_below;
use crate::convert::{Conversion, Element};
use crate::native::bytes_of_mut;
use crate::source::{ReadAt, ReadError, read_full};

/// Values are filled in blocks of so many bytes, so that what was read is still in the cache when it is turned.
pub(crate) const BLOCK: usize = 64 << 10;

/// Values that are being filled from elements that lie behind each other in the file. Whoever drives it reads what
/// [`bytes`](Self::bytes) asks for, then calls [`turn`](Self::turn), until nothing is asked for.
pub(crate) struct Filling<'b, T: Element> {
    /// The values that are not yet there.
    left: &'b mut [T],
    place: Place,
    conversion: Conversion<T>,
    /// How many values are filled at a time, at the most. Such blocks end with whole bytes.
    block: usize,
    /// Room for an element that is wider than the last value.
    pair: [T; 2],
}

impl<'b, T: Element> Filling<'b, T> {
    #[inline]
    pub(crate) fn new(place: Place, conversion: Conversion<T>, values: &'b mut [T]) -> Self {
        let block = if conversion.is_plain() { usize::MAX & !7 } else { BLOCK / size_of::<T>() };
        Self { left: values, place, conversion, block, pair: [T::ZERO; 2] }
    }

    /// The bytes to be read next, and where in the file they lie. Nothing once all values are there.
    #[inline]
    pub(crate) fn bytes(&mut self) -> Option<(u64, &mut [u8])> {
        if self.left.is_empty() {
            return None;
        }
        let (place, conversion) = (self.place, self.conversion);
        let room = self.room();
        let len = place.bytes_of(conversion.count(room.len()) as u64);
        let bytes = bytes_of_mut(room);
        let len = index_below(len, bytes.len()).unwrap_or(bytes.len());
        Some((place.offset, bytes.get_mut(..len).unwrap_or_default()))
    }

    /// Turns the bytes that were read into values.
    #[inline]
    pub(crate) fn turn(&mut self) {
        let (place, conversion) = (self.place, self.conversion);
        let room = self.room();
        conversion.apply(place.skip, room);
        let count = conversion.count(room.len());
        if self.is_alone() {
            self.left.iter_mut().zip(self.pair).for_each(|(value, of_pair)| *value = of_pair);
        }
        self.place = place.after(count as u64);
        self.left = core::mem::take(&mut self.left).get_mut(count..).unwrap_or_default();
    }

    /// The memory that the next elements are read into.
    #[inline]
    fn room(&mut self) -> &mut [T] {
        if self.is_alone() {
            return &mut self.pair;
        }
        let len = self.left.len().min(self.block);
        self.left.get_mut(..len).unwrap_or_default()
    }

    /// Whether one value is left that has no room for its element.
    #[inline]
    fn is_alone(&self) -> bool {
        self.conversion.count(self.left.len()) == 0
    }
}

/// Fills all of the values from this place on.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`]. The values may then hold anything.
pub(crate) fn fill<S: ReadAt, T: Element>(
    source: &mut S,
    place: Place,
    conversion: Conversion<T>,
    values: &mut [T],
) -> Result<(), ReadError<S::Error>> {
    let mut filling = Filling::new(place, conversion, values);
    while let Some((offset, bytes)) = filling.bytes() {
        read_full(source, offset, bytes)?;
        filling.turn();
    }
    Ok(())
}
