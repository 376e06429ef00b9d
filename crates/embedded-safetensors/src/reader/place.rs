//! Where the elements of a tensor are in a file.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::tensor::span::Span;
use crate::util::bytes::touched_bytes;
use crate::values::convert::{bits_of_value, values_in, values_of_element};

/// The tensor's dtype and its first byte in the file. Elements are counted in values: a C64 tensor has
/// twice as many, which are F32.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Origin {
    start: u64,
    dtype: Dtype,
}

/// Where an element begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Place {
    /// The byte in the file.
    pub(crate) offset: u64,
    /// How many bits of that byte belong to earlier elements, up to 7.
    pub(crate) skip: u8,
    /// The width of an element.
    bits: u8,
}

impl Origin {
    pub(crate) fn new(tensor: &Span) -> Self {
        Self { start: tensor.start(), dtype: tensor.dtype() }
    }

    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    pub(crate) const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns how many values an element of the dtype has.
    pub(crate) const fn values_of_element(&self) -> u64 {
        values_of_element(self.dtype)
    }

    /// Returns how many elements fill this many bytes of the tensor exactly.
    pub(crate) const fn elements(&self, bytes: u64) -> u64 {
        values_in(self.dtype, bytes)
    }

    /// Returns where the element of this index is. The tensor must have it, or end there.
    pub(crate) const fn place(&self, index: u64) -> Place {
        let bits = bits_of_value(self.dtype);
        Place { offset: self.start, skip: 0, bits }.after(index)
    }

    /// Returns an error that concerns the entire tensor.
    pub(crate) const fn error(&self, kind: ErrorKind) -> Error {
        kind.at(self.start)
    }
}

impl Place {
    /// Returns the place this many elements further on. A tensor has fewer than 2^64 bits, so this cannot
    /// overflow.
    pub(crate) const fn after(self, elements: u64) -> Self {
        let bits = elements.wrapping_mul(self.bits as u64).wrapping_add(self.skip as u64);
        let [low, ..] = bits.to_le_bytes();
        Self { offset: self.offset.wrapping_add(bits >> 3), skip: low & 7, ..self }
    }

    /// Returns how many bytes this many elements touch, including bytes shared with other elements.
    pub(crate) const fn bytes_of(self, elements: u64) -> u64 {
        let bits = elements.wrapping_mul(self.bits as u64).wrapping_add(self.skip as u64);
        touched_bytes(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(dtype: Dtype) -> Origin {
        Origin { start: 100, dtype }
    }

    #[test]
    fn elements_of_every_width_are_counted_exactly() {
        for &dtype in Dtype::ALL {
            let of_element = origin(dtype).values_of_element();
            for eights in (0..1000).chain([1 << 40, u64::MAX >> 7]) {
                let elements = eights * 8;
                let bytes = elements.checked_mul(dtype.bits().into()).map(|bits| bits / 8);
                let Some(bytes) = bytes else { continue };
                assert_eq!(origin(dtype).elements(bytes), elements * of_element, "{dtype}, {bytes} bytes");
            }
        }
    }

    #[test]
    fn narrow_elements_begin_inside_bytes() {
        let places = |dtype| [0, 1, 2, 3, 4].map(|index| origin(dtype).place(index));
        let found = |dtype| places(dtype).map(|place| (place.offset, place.skip));
        assert_eq!(found(Dtype::F4), [(100, 0), (100, 4), (101, 0), (101, 4), (102, 0)]);
        assert_eq!(found(Dtype::F6_E2M3), [(100, 0), (100, 6), (101, 4), (102, 2), (103, 0)]);
        assert_eq!(found(Dtype::C64), [(100, 0), (104, 0), (108, 0), (112, 0), (116, 0)]);
    }

    #[test]
    fn touched_bytes_include_shared_ones() {
        let bytes = |dtype, index, count| origin(dtype).place(index).bytes_of(count);
        assert_eq!([0, 1, 2, 3].map(|count| bytes(Dtype::F4, 0, count)), [0, 1, 1, 2]);
        assert_eq!([1, 2, 3].map(|count| bytes(Dtype::F4, 1, count)), [1, 2, 2]);
        assert_eq!([1, 2, 3, 4].map(|count| bytes(Dtype::F6_E3M2, 1, count)), [2, 3, 3, 4]);
        assert_eq!(bytes(Dtype::F64, 3, 5), 40);
    }

    #[test]
    fn consecutive_steps_add_up() {
        for &dtype in Dtype::ALL {
            for (first, then) in [(0, 1), (1, 1), (3, 5), (7, 9), (1 << 40, 3)] {
                let sum = origin(dtype).place(first + then);
                assert_eq!(origin(dtype).place(first).after(then), sum, "{dtype}");
            }
        }
    }
}
