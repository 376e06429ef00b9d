//! Fills values from storage, using only the memory of the values.

use super::contiguous::Contiguous;
use super::place::Place;
use super::region::Fill;
use crate::io::ReadError;
use crate::util::bytes::{index_below, low_usize};
use crate::values::convert::{Conversion, Element};
use crate::values::native::bytes_of_mut;

/// Values are filled in blocks of this many bytes, so that the bytes read are still in the cache when they
/// are converted.
pub(crate) const BLOCK: usize = 64 << 10;

/// Values that are being filled from contiguous elements.
pub struct Converting<'b, T: Element> {
    /// The values that are not filled yet.
    left: &'b mut [T],
    place: Place,
    conversion: Conversion<T>,
    /// How many values are filled at a time, at most. Such blocks end at a byte boundary.
    block: usize,
    /// Space for an element that is wider than the last value.
    pair: [T; 2],
}

impl<'b, T: Element> Converting<'b, T> {
    #[inline]
    pub(crate) fn new(place: Place, conversion: Conversion<T>, values: &'b mut [T]) -> Self {
        let block = if conversion.is_plain() { usize::MAX & !7 } else { BLOCK / size_of::<T>() };
        Self { left: values, place, conversion, block, pair: [T::ZERO; 2] }
    }

    /// Fills all values from a file in memory.
    ///
    /// # Errors
    /// [`ReadError::UnexpectedEof`].
    fn convert_all_from<E>(&mut self, file: &[u8]) -> Result<(), ReadError<E>> {
        let end = ReadError::UnexpectedEof { at: self.place.offset.max(file.len() as u64) };
        let Some(begin) = index_below(self.place.offset, file.len()) else {
            return if self.left.is_empty() { Ok(()) } else { Err(end) };
        };
        let rest = file.get(begin..).unwrap_or_default();
        let len = self.place.bytes_of(self.left.len() as u64);
        let Some(elements) = index_below(len, rest.len() + 1).and_then(|len| rest.get(..len)) else {
            return Err(end);
        };
        self.conversion.apply_from(elements, self.place.skip, self.left);
        Ok(())
    }

    /// Returns the memory to read the next elements into.
    #[inline]
    fn room(&mut self) -> &mut [T] {
        if self.is_alone() {
            return &mut self.pair;
        }
        let len = self.left.len().min(self.block);
        self.left.get_mut(..len).unwrap_or_default()
    }

    /// Whether only one value is left, which is too small for its element.
    #[inline]
    fn is_alone(&self) -> bool {
        self.conversion.count(self.left.len()) == 0
    }
}

impl<T: Element> Fill<Contiguous> for Converting<'_, T> {
    #[inline]
    fn bytes(&mut self, _: &Contiguous) -> Option<(u64, &mut [u8], usize)> {
        if self.left.is_empty() {
            return None;
        }
        let (place, conversion) = (self.place, self.conversion);
        let room = self.room();
        let len = place.bytes_of(conversion.count(room.len()) as u64);
        Some((place.offset, bytes_of_mut(room), low_usize(len)))
    }

    #[inline]
    fn convert(&mut self, _: &Contiguous) {
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

    fn convert_from<E>(&mut self, file: &[u8]) -> Option<Result<(), ReadError<E>>> {
        Some(self.convert_all_from(file))
    }

    #[inline]
    fn end(self, region: &mut Contiguous, asked: usize) -> usize {
        region.advance(asked);
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::reader::place::Origin;
    use crate::tensor::location::Location;
    use crate::tensor::span::Span;
    use crate::values::convert::Loss;
    use core::convert::Infallible;

    fn span(dtype: Dtype) -> Span {
        Span::of(Location { dtype, header: 0, begin: 2, end: 10 }, 1)
    }

    fn place(dtype: Dtype, element: u64) -> Place {
        Origin::new(&span(dtype)).place(element)
    }

    fn conversion<T: Element>(from: Dtype) -> Conversion<T> {
        Conversion::of(from, Loss::Rounded).expect("conversion exists")
    }

    /// Returns where each step reads, and how many bytes.
    fn steps<T: Element>(from: Dtype, first: u64, values: &mut [T]) -> [(u64, usize); 5] {
        let mut converting = Converting::new(place(from, first), conversion(from), values);
        let region = Contiguous::all(&span(from));
        core::array::from_fn(|_| {
            let step = converting.bytes(&region).map_or((0, 0), |(offset, _, len)| (offset, len));
            converting.convert(&region);
            step
        })
    }

    #[test]
    fn values_that_fit_take_one_read() {
        assert_eq!(steps(Dtype::F16, 1, &mut [0f32; 9]), [(5, 18), (0, 0), (0, 0), (0, 0), (0, 0)]);
        assert_eq!(steps(Dtype::F4, 3, &mut [0f32; 4]), [(4, 3), (0, 0), (0, 0), (0, 0), (0, 0)]);
        assert_eq!(steps(Dtype::U8, 3, &mut [0u8; 0]), [(0, 0); 5]);
    }

    #[test]
    fn wider_elements_are_read_in_halves() {
        let reads = [(11, 24), (35, 16), (51, 8), (59, 8), (0, 0)];
        assert_eq!(steps(Dtype::F64, 1, &mut [0f32; 7]), reads);
    }

    #[test]
    fn end_of_file_in_memory_is_reported() {
        let file: [u8; 11] = core::array::from_fn(|i| u8::try_from(i).expect("fits a byte"));
        let read = |first, values: &mut [u8]| {
            let outcome = Converting::new(place(Dtype::U8, first), conversion(Dtype::U8), values)
                .convert_all_from(&file);
            outcome.map_err(|error: ReadError<Infallible>| error)
        };
        let mut values = [0; 8];
        assert_eq!((read(0, &mut values), values), (Ok(()), [3, 4, 5, 6, 7, 8, 9, 10]));
        assert_eq!(read(1, &mut values), Err(ReadError::UnexpectedEof { at: 11 }));
        assert_eq!(read(20, &mut values), Err(ReadError::UnexpectedEof { at: 23 }));
        assert_eq!(read(20, &mut []), Ok(()));
    }
}
