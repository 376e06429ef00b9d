//! Elements become values in place: narrow bytes at the front of a buffer, widened to all of it.
//!
//! The picture, for F16 that become `f32`; each letter is an element, the dots are not yet written:
//!
//! ```text
//! a b c d e f g h . . . . . . . .     narrow, 2 bytes each, at the front of 8 times 4 bytes
//! a b c d . . . . e   f   g   h       the upper half: from there nothing is read any more
//! a b . . c   d   e   f   g   h       the upper half of what is left …
//! a . b   c   d   e   f   g   h       … until one is left, which is turned by way of a copy
//! ```
//!
//! *Invariant*: while `count` elements at the front are still narrow, the values from `count` on are finished.
//! A round turns those elements whose values lie wholly behind the narrow bytes, so that it reads and writes
//! different memory, and the compiler can turn many at a time. Elements as wide as values, and wider ones, leave
//! no such room: they go through a copy, block by block, from the front.
//!
//! What becomes what stands in [`floats`] and [`integers`], how the bits of the narrow floats are meant in
//! [`decode`], and how they are packed in [`packed`]. No NaN is ever put through an instruction for floats, which
//! would make a signalling one quiet: values are made of bits, and bits are written as bytes. If you add a dtype,
//! also add it to the tables in `tests/elements/`.

mod decode;
mod element;
mod floats;
mod integers;
mod packed;

use crate::dtype::Dtype;
use crate::error::ErrorKind;
use crate::util::bytes::copy;
use crate::values::native::bytes_of_mut;
pub use element::Element;
use element::{Turn, Way};

/// What may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Loss {
    /// Every value of the dtype is one of the type.
    None,
    /// Values are rounded to the nearest, halves to the even one, too large ones to infinity.
    Rounded,
}

/// How elements of one dtype become values of type `T`.
#[derive(Clone, Copy)]
pub struct Conversion<T: Element> {
    /// Of one element.
    bits: u8,
    way: Way<T>,
}

/// How many values an element is: a C64 is two, which are F32, the real part first.
pub(crate) const fn values_of_element(dtype: Dtype) -> u64 {
    if let Dtype::C64 = dtype { 2 } else { 1 }
}

/// How many bits of a file make one value.
pub(crate) const fn bits_of_value(dtype: Dtype) -> u8 {
    match dtype {
        Dtype::C64 => Dtype::F32.bits(),
        other => other.bits(),
    }
}

/// Elements that are turned through a copy at a time.
const BLOCK: usize = 16;
const WIDEST: usize = 8;

impl<T: Element> Conversion<T> {
    /// # Errors
    /// [`ErrorKind::Lossy`] where there is a conversion, but one that can lose something;
    /// [`ErrorKind::NoConversion`] where there is none.
    #[inline]
    pub(crate) fn of(from: Dtype, loss: Loss) -> Result<Self, ErrorKind> {
        let bits = bits_of_value(from);
        if let Some(way) = T::lossless(from) {
            return Ok(Self { bits, way });
        }
        match (T::rounded(from), loss) {
            (Some(turn), Loss::Rounded) => Ok(Self { bits, way: Way::Turns(turn) }),
            (Some(_), Loss::None) => Err(ErrorKind::Lossy { from, to: T::DTYPE }),
            (None, _) => Err(ErrorKind::NoConversion { from, to: T::DTYPE }),
        }
    }

    /// Whether elements are values as they are, so that `apply` has nothing to do.
    pub(crate) const fn is_plain(self) -> bool {
        matches!(self.way, Way::Stays)
    }

    /// How many elements `apply` turns of those whose bytes `len` values have room for: `len`, or half as many where
    /// elements are twice as wide as values. An odd last one needs room elsewhere, in a pair of [`Element::ZERO`].
    pub(crate) const fn count(self, len: usize) -> usize {
        if self.bits as usize > size_of::<T>() << 3 { len >> 1 } else { len }
    }

    /// The bytes of `values` begin with [`count`](Self::count) elements of the dtype, the first of them at bit `skip`
    /// (0 to 7) of the first byte; turns these into as many values, at the front.
    pub(crate) fn apply(self, skip: u8, values: &mut [T]) {
        debug_assert!(skip < 8, "a byte has no bit {skip}");
        let Way::Turns(turn) = self.way else { return };
        let count = self.count(values.len());
        let left = if count < values.len() { count } else { self.widen(turn, skip, values) };
        self.turn_through_copy(turn, skip, left, values);
    }

    /// As [`apply`](Self::apply), but all of the values, of elements that lie elsewhere in memory.
    pub(crate) fn apply_from(self, elements: &[u8], skip: u8, values: &mut [T]) {
        match self.way {
            Way::Stays => _ = copy(bytes_of_mut(values), elements),
            Way::Turns(turn) => turn(elements, skip, values),
        }
    }

    /// Turns all elements but as many, at the front, as it says.
    fn widen(self, turn: Turn<T>, skip: u8, mut values: &mut [T]) -> usize {
        loop {
            let keep = self.bytes(skip, values.len()).div_ceil(size_of::<T>());
            if keep >= values.len() {
                return values.len();
            }
            let (from, skipped) = self.place(skip, keep);
            let Some((front, behind)) = values.split_at_mut_checked(keep) else { return keep };
            turn(bytes_of_mut(front).get(from..).unwrap_or_default(), skipped, behind);
            values = front;
        }
    }

    /// Turns `count` elements at the front, from the first to the last.
    fn turn_through_copy(self, turn: Turn<T>, skip: u8, count: usize, values: &mut [T]) {
        let mut first = 0;
        while first < count {
            let len = (count - first).min(BLOCK);
            let (from, skipped) = self.place(skip, first);
            let mut block = [0; BLOCK * WIDEST];
            let bytes = bytes_of_mut(values).get(from..).unwrap_or_default();
            copy(&mut block, bytes.get(..self.bytes(skipped, len)).unwrap_or(bytes));
            turn(&block, skipped, values.get_mut(first..first + len).unwrap_or_default());
            first += len;
        }
    }

    /// The byte in which the element at `index` begins, and the bit of it.
    fn place(self, skip: u8, index: usize) -> (usize, u8) {
        let bit = skip as u64 + self.bits as u64 * index as u64;
        let [in_byte, ..] = (bit & 7).to_le_bytes();
        // Not beyond the memory, and so an index.
        (usize::try_from(bit >> 3).unwrap_or(usize::MAX), in_byte)
    }

    /// How many bytes have something of `count` elements.
    fn bytes(self, skip: u8, count: usize) -> usize {
        let (whole, bits) = self.place(skip, count);
        whole + (bits > 0) as usize
    }
}
