//! The layout of a slice.

use super::range::{AxisRange, Steps};
use super::walk::{ByteRuns, Runs, Walk};
use crate::dtype::Dtype;
use crate::error::ErrorKind;
use crate::shape::{self, MAX_RANK, Shape};
use crate::tensor::info::mismatch;
use crate::util::bytes;
use crate::values::convert::{bits_of_value, values_of_element};

/// The layout of a part of a tensor: its shape, and which bytes its elements are at. It is pure arithmetic,
/// for any transport.
///
/// Contiguous elements form one [`Run`](crate::slice::Run), as far as all runs of a slice have the same
/// length. A complete tensor is one run, and so is a slice that is complete except for its outermost axis.
/// Runs are generated one by one and are never stored as a list.
///
/// ```
/// use embedded_safetensors::{Dtype, slice::{AxisRange, SlicePlan}};
///
/// // Every second row of a 6 by 4 matrix, and the middle two columns of those.
/// let plan = SlicePlan::new(Dtype::F32, &[6, 4], &[AxisRange::ALL.step_by(2), (1..3).into()])?;
/// assert_eq!(plan.shape().dims(), [3, 2]);
/// assert_eq!(plan.byte_len()?, 24);
///
/// // The byte ranges for a DMA engine, counted from the tensor's first byte.
/// let mut fetched = plan.byte_runs()?;
/// assert_eq!(fetched.next(), Some(4..12));
/// assert_eq!(fetched.next(), Some(36..44));
/// assert_eq!(fetched.next(), Some(68..76));
/// assert_eq!(fetched.next(), None);
/// # Ok::<(), embedded_safetensors::ErrorKind>(())
/// ```
///
/// *Memory*: 232 bytes for any slice, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SlicePlan {
    shape: Shape,
    nest: Nest,
    elements: u64,
    dtype: Dtype,
    /// The width of an element.
    bits: u8,
}

/// Runs of `run` elements, the first one at `first`, repeated by nested loops, the innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Nest {
    pub(crate) first: u64,
    pub(crate) run: u64,
    pub(crate) loops: [Loop; MAX_RANK],
}

/// Repeats everything inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Loop {
    pub(crate) count: u64,
    /// Elements from the end of one repetition to the beginning of the next.
    pub(crate) gap: u64,
}

impl SlicePlan {
    /// Creates the plan for a slice with these ranges, outermost axis first. Axes without a range are
    /// selected completely, so no ranges select the complete tensor.
    ///
    /// The tensor may have any number of dimensions, if the result has at most [`MAX_RANK`].
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`] for the outermost axis whose range goes beyond its end, with the
    /// requested index; [`ErrorKind::ZeroStep`]; [`ErrorKind::TooManyRanges`]; [`ErrorKind::Rank`] when the
    /// result has too many dimensions. [`ErrorKind::Overflow`] and [`ErrorKind::SubByte`] when no tensor
    /// can have this dtype and these dimensions.
    pub const fn new(dtype: Dtype, dims: &[u64], ranges: &[AxisRange]) -> Result<Self, ErrorKind> {
        match shape::elements(dims) {
            // If this wraps, `of_tensor` reports an overflow.
            Ok(elements) => {
                let byte_len = elements.wrapping_mul(dtype.bits() as u64) >> 3;
                Self::of_tensor(dtype, dims, byte_len, ranges)
            }
            Err(kind) => Err(kind),
        }
    }

    /// As [`new`](Self::new), for a tensor of `byte_len` bytes.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`ErrorKind::Size`].
    pub(crate) const fn of_tensor(
        dtype: Dtype,
        dims: &[u64],
        byte_len: u64,
        ranges: &[AxisRange],
    ) -> Result<Self, ErrorKind> {
        if let Err(kind) = agree(dtype, dims, byte_len) {
            return Err(kind);
        }
        if ranges.len() > dims.len() {
            let (asked, rank) = (ranges.len() as u64, dims.len() as u64);
            return Err(ErrorKind::TooManyRanges { asked, rank });
        }
        let shape = match shape_of(dims, ranges) {
            Ok(shape) => shape,
            Err(kind) => return Err(kind),
        };
        match shape.elements() {
            Ok(0) => Ok(Self { shape, nest: Nest::EMPTY, elements: 0, dtype, bits: dtype.bits() }),
            Ok(elements) => {
                Ok(Self { shape, nest: Nest::of(dims, ranges), elements, dtype, bits: dtype.bits() })
            }
            Err(kind) => Err(kind),
        }
    }

    /// Returns the shape of the result.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the dtype of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns how many elements the result has.
    pub const fn elements(&self) -> u64 {
        self.elements
    }

    /// Returns how many bytes the result has.
    ///
    /// # Errors
    /// [`ErrorKind::PartOfByte`] when a run does not begin and end at a byte boundary. This is possible
    /// only with elements narrower than a byte.
    pub const fn byte_len(&self) -> Result<u64, ErrorKind> {
        match self.broken_byte() {
            None => Ok(self.bits_of(self.elements) >> 3),
            Some(_) => Err(ErrorKind::PartOfByte { bits: self.dtype.bits() }),
        }
    }

    /// Returns how many runs the slice has.
    pub const fn run_count(&self) -> u64 {
        let mut count = if self.elements > 0 { 1 } else { 0 };
        let mut loops: &[Loop] = &self.nest.loops;
        while let Some((of, outer)) = loops.split_first() {
            count *= of.count;
            loops = outer;
        }
        count
    }

    /// Returns the runs, in the order of the result's elements, which is the order in the tensor.
    pub const fn runs(&self) -> Runs {
        Runs::new(self)
    }

    /// Returns the runs as byte ranges, counted from the tensor's first byte.
    ///
    /// # Errors
    /// As [`byte_len`](Self::byte_len).
    pub const fn byte_runs(&self) -> Result<ByteRuns, ErrorKind> {
        match self.byte_len() {
            Ok(_) => Ok(ByteRuns::new(self)),
            Err(kind) => Err(kind),
        }
    }

    pub(crate) const fn nest(&self) -> &Nest {
        &self.nest
    }

    /// Returns a walk at the first element.
    pub(crate) const fn walk(&self) -> Walk {
        Walk::new(&self.nest, self.elements)
    }

    /// Returns the same plan, counted in values: a C64 has two.
    pub(crate) fn of_values(mut self) -> Self {
        self.bits = bits_of_value(self.dtype);
        if values_of_element(self.dtype) == 2 {
            // None can wrap: the number of the tensor's bits fits 64 bits.
            self.elements <<= 1;
            self.nest.first <<= 1;
            self.nest.run <<= 1;
            self.nest.loops.iter_mut().for_each(|of| of.gap <<= 1);
        }
        self
    }

    /// Returns the width of an element.
    pub(crate) const fn bits(&self) -> u8 {
        self.bits
    }

    /// Returns how many bits this many elements take. It cannot overflow for the elements of a tensor.
    pub(crate) const fn bits_of(&self, elements: u64) -> u64 {
        elements.wrapping_mul(self.bits as u64)
    }

    /// Returns the end of the last element, counted in elements of the tensor.
    pub(crate) fn end(&self) -> u64 {
        let Nest { first, run, loops } = &self.nest;
        loops.iter().fold(first + run, |end, of| end + (of.count - 1) * (end - first + of.gap))
    }

    /// Returns the first byte of the tensor that a run covers only in part.
    pub(crate) const fn broken_byte(&self) -> Option<u64> {
        let nest = &self.nest;
        let mut broken = self.broken_at(nest.first);
        if broken.is_none() {
            broken = self.broken_at(nest.first + nest.run);
        }
        let (mut extent, mut loops): (u64, &[Loop]) = (nest.run, &nest.loops);
        while let (None, Some((of, outer))) = (broken, loops.split_first()) {
            // The second repetition; in the first, all boundaries were at whole bytes.
            broken = self.broken_at(nest.first + extent + of.gap);
            extent += (of.count - 1) * (extent + of.gap);
            loops = outer;
        }
        broken
    }

    /// Returns the byte, if this element begins inside it.
    const fn broken_at(&self, element: u64) -> Option<u64> {
        let bits = self.bits_of(element);
        if bits & 7 == 0 { None } else { Some(bits >> 3) }
    }
}

/// Validates that a tensor can have this dtype, these dimensions and this many bytes.
const fn agree(dtype: Dtype, dims: &[u64], byte_len: u64) -> Result<(), ErrorKind> {
    match shape::elements(dims) {
        Ok(elements) => match mismatch(dtype, elements, 0, byte_len) {
            None => Ok(()),
            Some(kind) => Err(kind),
        },
        Err(kind) => Err(kind),
    }
}

/// Validates that each range fits its axis, and returns the resulting shape.
const fn shape_of(mut dims: &[u64], ranges: &[AxisRange]) -> Result<Shape, ErrorKind> {
    let (mut shape, rank) = (Shape::SCALAR, dims.len());
    while let Some((&size, inner)) = dims.split_first() {
        let axis = rank - dims.len();
        let pushed = match range_of(ranges, axis).on(axis as u64, size) {
            Ok(Steps { count, keeps_axis: true, .. }) => shape.push(count),
            Ok(_) => Ok(()),
            Err(kind) => Err(kind),
        };
        if let Err(kind) = pushed {
            return Err(kind);
        }
        dims = inner;
    }
    Ok(shape)
}

const fn range_of(ranges: &[AxisRange], axis: usize) -> AxisRange {
    match bytes::get(ranges, axis) {
        Some(range) => range,
        None => AxisRange::ALL,
    }
}

impl Loop {
    const ONCE: Self = Self { count: 1, gap: 0 };
}

impl Nest {
    const EMPTY: Self = Self { first: 0, run: 0, loops: [Loop::ONCE; MAX_RANK] };

    /// Creates the nest for ranges that fit the tensor and whose result is not empty. So no product here
    /// exceeds the tensor's number of elements.
    const fn of(mut dims: &[u64], ranges: &[AxisRange]) -> Self {
        let mut building = Building::new();
        let mut stride = 1;
        while let Some((&size, outer)) = dims.split_last() {
            if let Ok(steps) = range_of(ranges, outer.len()).on(0, size) {
                building.nest.first += steps.first * stride;
                if steps.count > 1 {
                    building.repeat(steps.count, steps.step * stride);
                }
            }
            stride *= size;
            dims = outer;
        }
        building.nest
    }
}

/// A nest under construction, from the innermost axis to the outermost.
struct Building {
    nest: Nest,
    /// How many loops the nest has.
    depth: usize,
    /// Elements from the beginning of the first run to the end of the last.
    extent: u64,
    /// Elements from the beginning of the first run to where the outermost loop would continue.
    period: u64,
}

impl Building {
    const fn new() -> Self {
        Self { nest: Nest { run: 1, ..Nest::EMPTY }, depth: 0, extent: 1, period: 1 }
    }

    /// Repeats everything `count` times, `pitch` elements apart. If the repetitions follow each other
    /// without a gap, the loop inside is extended instead.
    const fn repeat(&mut self, count: u64, pitch: u64) {
        if pitch == self.period {
            match bytes::get_mut(&mut self.nest.loops, self.depth.wrapping_sub(1)) {
                Some(outermost) => outermost.count *= count,
                None => self.nest.run *= count,
            }
        } else if let Some(next) = bytes::get_mut(&mut self.nest.loops, self.depth) {
            *next = Loop { count, gap: pitch - self.extent };
            self.depth += 1;
        }
        self.extent += (count - 1) * pitch;
        // With a step, that may be after the end of the tensor, but by less than the tensor's length.
        self.period = count * pitch;
    }
}
