//! Converts elements to values in place: narrow elements at the front of a buffer are widened to fill it.
//!
//! For example, F16 to `f32`. Each letter is an element; dots are not yet written:
//!
//! ```text
//! a b c d e f g h . . . . . . . .     narrow, 2 bytes each, at the front of 8 times 4 bytes
//! a b c d . . . . e   f   g   h       the upper half: its bytes are not read again
//! a b . . c   d   e   f   g   h       the upper half of what is left …
//! a . b   c   d   e   f   g   h       … until one is left, which is converted through a copy
//! ```
//!
//! *Invariant*: while `count` elements at the front are still narrow, the values from `count` on are
//! finished. A round converts the elements whose values are entirely after the narrow bytes. So it reads
//! and writes disjoint memory, and the compiler can vectorise it. Elements that are as wide as values, or
//! wider, leave no such space. They are converted through a copy, block by block, from the front.
//!
//! The conversions are in [`floats`], with the bit layouts of narrow ones, and [`integers`]; the packing of
//! narrow floats is in [`packed`]. No NaN passes through a float instruction, which could make a signalling
//! NaN quiet: values are built from bits, and bits are written as bytes. If you add a dtype, also add it to
//! the tables in `tests/elements/`.

mod element;
mod erased;
mod floats;
mod integers;
mod packed;

use crate::dtype::Dtype;
use crate::error::ErrorKind;
use crate::util::bytes::{copy, front};
use crate::values::dtypes::Dtypes;
use crate::values::native::bytes_of_mut;
pub use element::Element;
use element::{ConvertFn, Way};
pub(crate) use erased::Arriving;

/// Whether a conversion may lose information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Loss {
    /// The type has every value of the dtype.
    None,
    /// Values are rounded to the nearest, ties to even; values that are too large become infinity.
    Rounded,
}

/// How elements of a dtype become values of type `T`.
#[derive(Clone, Copy)]
pub struct Conversion<T: Element> {
    /// The width of an element.
    bits: u8,
    way: Way<T>,
}

/// How many values an element has: a C64 has two, which are F32, the real part first.
pub(crate) const fn values_of_element(dtype: Dtype) -> u64 {
    if let Dtype::C64 = dtype { 2 } else { 1 }
}

/// How many bits of a file make up one value.
pub(crate) const fn bits_of_value(dtype: Dtype) -> u8 {
    match dtype {
        Dtype::C64 => Dtype::F32.bits(),
        other => other.bits(),
    }
}

/// The inverse of 3 modulo 2^64. Multiplying a multiple of 3 by it divides by 3.
const ONE_THIRD: u64 = 0xAAAA_AAAA_AAAA_AAAB;

/// How many values fill this many bytes of a file exactly.
pub(crate) const fn values_in(dtype: Dtype, bytes: u64) -> u64 {
    match bits_of_value(dtype) {
        bits @ (1 | 2 | 4) => bytes << (3 - bits.trailing_zeros()),
        6 => bytes.wrapping_mul(ONE_THIRD) << 2,
        bits => bytes >> (bits >> 3).trailing_zeros(),
    }
}

/// How many elements are converted through a copy at a time.
const BLOCK: usize = 16;
const WIDEST: usize = 8;

impl<T: Element> Conversion<T> {
    /// # Errors
    /// [`ErrorKind::Lossy`] when the conversion would need rounding; [`ErrorKind::NoConversion`] when there
    /// is none.
    #[inline]
    pub(crate) fn of<D: Dtypes>(dtype: Dtype) -> Result<Self, ErrorKind> {
        // If there is only one dtype, it is a constant, so that no code for others is linked.
        let from = D::ONE.unwrap_or(dtype);
        let bits = bits_of_value(from);
        if let Some(way) = T::lossless(from) {
            return Ok(Self { bits, way });
        }
        match (T::rounded(from), D::LOSS) {
            (Some(convert), Loss::Rounded) => Ok(Self { bits, way: Way::Convert(convert) }),
            (Some(_), Loss::None) => Err(ErrorKind::Lossy { from, to: T::DTYPE }),
            (None, _) => Err(ErrorKind::NoConversion { from, to: T::DTYPE }),
        }
    }

    /// Whether elements already are values, so that `apply` does nothing.
    pub(crate) const fn is_plain(self) -> bool {
        matches!(self.way, Way::Same)
    }

    /// How many elements `apply` converts in a buffer of `len` values: `len`, or half of it when elements
    /// are twice as wide as values. An odd last one needs other memory, a pair of [`Element::ZERO`].
    pub(crate) const fn count(self, len: usize) -> usize {
        if self.bits as usize > size_of::<T>() << 3 { len >> 1 } else { len }
    }

    /// Returns how many values `elements` elements need space for: [`count`](Self::count) the other way
    /// round.
    pub(crate) const fn room(self, elements: u64) -> u64 {
        if self.bits as usize > size_of::<T>() << 3 { elements << 1 } else { elements }
    }

    /// Returns the values that are filled at a time. Such blocks end at a byte boundary of their elements,
    /// and are still in the cache when they are converted.
    #[inline]
    pub(crate) fn block(self, values: &mut [T]) -> &mut [T] {
        const BYTES: u64 = 64 << 10;
        let len = if self.is_plain() { u64::MAX } else { BYTES >> size_of::<T>().trailing_zeros() };
        front(values, len)
    }

    /// Converts the elements at the front of `values` into as many values. There are [`count`](Self::count)
    /// elements, and the first begins at bit `skip` (0 to 7) of the first byte.
    pub(crate) fn apply(self, skip: u8, values: &mut [T]) {
        debug_assert!(skip < 8, "a byte has no bit {skip}");
        let Way::Convert(convert) = self.way else { return };
        let count = self.count(values.len());
        let left = if count < values.len() { count } else { self.widen(convert, skip, values) };
        self.convert_through_copy(convert, skip, left, values);
    }

    /// As [`apply`](Self::apply), but fills all of the values from elements in other memory.
    pub(crate) fn apply_from(self, elements: &[u8], skip: u8, values: &mut [T]) {
        match self.way {
            Way::Same => _ = copy(bytes_of_mut(values), elements),
            Way::Convert(convert) => convert(elements, skip, values),
        }
    }

    /// Converts all elements except some at the front, and returns how many are left.
    fn widen(self, convert: ConvertFn<T>, skip: u8, mut values: &mut [T]) -> usize {
        loop {
            let keep = self.bytes(skip, values.len()).div_ceil(size_of::<T>());
            if keep >= values.len() {
                return values.len();
            }
            let (from, skipped) = self.place(skip, keep);
            let Some((front, wide)) = values.split_at_mut_checked(keep) else { return keep };
            convert(bytes_of_mut(front).get(from..).unwrap_or_default(), skipped, wide);
            values = front;
        }
    }

    /// Converts `count` elements at the front, from the first to the last.
    fn convert_through_copy(self, convert: ConvertFn<T>, skip: u8, count: usize, values: &mut [T]) {
        let mut first = 0;
        while first < count {
            let len = (count - first).min(BLOCK);
            let (from, skipped) = self.place(skip, first);
            let mut block = [0; BLOCK * WIDEST];
            let bytes = bytes_of_mut(values).get(from..).unwrap_or_default();
            copy(&mut block, bytes.get(..self.bytes(skipped, len)).unwrap_or(bytes));
            convert(&block, skipped, values.get_mut(first..first + len).unwrap_or_default());
            first += len;
        }
    }

    /// Returns the byte in which the element at `index` begins, and the bit in it.
    fn place(self, skip: u8, index: usize) -> (usize, u8) {
        let bit = skip as u64 + self.bits as u64 * index as u64;
        let [in_byte, ..] = (bit & 7).to_le_bytes();
        // It is inside the buffer, so it fits a `usize`.
        (usize::try_from(bit >> 3).unwrap_or(usize::MAX), in_byte)
    }

    /// How many bytes `count` elements touch.
    fn bytes(self, skip: u8, count: usize) -> usize {
        let (whole, bits) = self.place(skip, count);
        whole + (bits > 0) as usize
    }
}
