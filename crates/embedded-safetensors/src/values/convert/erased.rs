//! Values that arrive in pieces of any length, in memory whose type is known only when it is created.

use super::{Conversion, Element, values_in};
use crate::dtype::Dtype;
use crate::error::ErrorKind;
use crate::tensor::span::unit;
use crate::util::bytes::{copy, index_below};
use crate::values::dtypes::Dtypes;
use crate::values::native::{bytes_of_mut, values_of_mut};

/// The memory of values, and the elements that arrived but are not complete yet.
pub(crate) struct Arriving<'b> {
    memory: &'b mut [u8],
    ways: &'static Ways,
    /// The front of a group of elements whose rest is missing.
    group: [u8; 8],
    grouped: u8,
}

/// What depends on the type of the values.
struct Ways {
    size: u64,
    check: fn(Dtype) -> Result<(), ErrorKind>,
    /// Converts whole elements to as many values, whose memory is given.
    convert: fn(Dtype, &[u8], &mut [u8]),
}

impl<'b> Arriving<'b> {
    pub(crate) const fn new<T: Element, D: Dtypes>(values: &'b mut [T]) -> Self {
        let ways =
            const { &Ways { size: size_of::<T>() as u64, check: check::<T, D>, convert: convert::<T, D> } };
        Self { memory: bytes_of_mut(values), ways, group: [0; 8], grouped: 0 }
    }

    /// Checks that elements of a dtype can become such values.
    ///
    /// # Errors
    /// [`ErrorKind::Lossy`]; [`ErrorKind::NoConversion`].
    pub(crate) fn check(&self, dtype: Dtype) -> Result<(), ErrorKind> {
        (self.ways.check)(dtype)
    }

    pub(crate) const fn memory(&self) -> &[u8] {
        self.memory
    }

    /// Returns how many bytes of memory the values take that these bytes of elements become.
    pub(crate) const fn needed(&self, dtype: Dtype, bytes: u64) -> u64 {
        values_in(dtype, bytes).saturating_mul(self.ways.size)
    }

    /// Starts again with the first element.
    pub(crate) fn reset(&mut self) {
        self.grouped = 0;
    }

    /// Converts the bytes after the first `passed` bytes of a tensor, as far as elements are complete.
    pub(crate) fn push(&mut self, dtype: Dtype, passed: u64, bytes: &[u8]) {
        let unit = usize::from(unit(dtype));
        let (mut passed, mut left) = (passed - u64::from(self.grouped), bytes);
        if self.grouped > 0 {
            let len = self.collect(unit, left);
            left = left.get(len..).unwrap_or_default();
            if usize::from(self.grouped) < unit {
                return;
            }
            let group = self.group;
            self.put(dtype, passed, group.get(..unit).unwrap_or_default());
            (passed, self.grouped) = (passed + unit as u64, 0);
        }
        let rest = if unit == 3 { left.len() % 3 } else { left.len() & (unit - 1) };
        let (whole, rest) = left.split_at_checked(left.len() - rest).unwrap_or((left, &[]));
        self.put(dtype, passed, whole);
        self.collect(unit, rest);
    }

    /// Collects bytes up to the end of the group, and returns how many.
    fn collect(&mut self, unit: usize, bytes: &[u8]) -> usize {
        let room = self.group.get_mut(usize::from(self.grouped)..unit).unwrap_or_default();
        let len = copy(room, bytes);
        self.grouped += len.to_le_bytes()[0];
        len
    }

    /// Converts whole groups that begin at byte `at` of the tensor.
    fn put(&mut self, dtype: Dtype, at: u64, elements: &[u8]) {
        let (begin, len) = (self.needed(dtype, at), self.needed(dtype, elements.len() as u64));
        let begin = index_below(begin, usize::MAX).unwrap_or(usize::MAX);
        let len = index_below(len, usize::MAX).unwrap_or(usize::MAX);
        let from = self.memory.get_mut(begin..).unwrap_or_default();
        (self.ways.convert)(dtype, elements, from.get_mut(..len).unwrap_or_default());
    }
}

fn check<T: Element, D: Dtypes>(dtype: Dtype) -> Result<(), ErrorKind> {
    Conversion::<T>::of::<D>(dtype).map(|_| ())
}

fn convert<T: Element, D: Dtypes>(dtype: Dtype, elements: &[u8], memory: &mut [u8]) {
    // It has been checked that there is a conversion, and the memory is that of values.
    if let (Ok(conversion), Some(values)) = (Conversion::of::<D>(dtype), values_of_mut::<T>(memory)) {
        conversion.apply_from(elements, 0, values);
    }
}
