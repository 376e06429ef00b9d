//! One tensor: its dtype, its shape and its place in the file's data.

use crate::dtype::Dtype;
use crate::error::ErrorKind;
use crate::shape::Shape;

/// Where a tensor lies and how to read it. The range counts from the start of the data, which is
/// the end of the header.
///
/// *Memory*: 96 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorInfo {
    dtype: Dtype,
    shape: Shape,
    begin: u64,
    end: u64,
}

impl TensorInfo {
    /// A tensor whose range, dtype and shape agree.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`], [`ErrorKind::SubByte`], [`ErrorKind::Reversed`] or
    /// [`ErrorKind::Size`] when they do not.
    pub const fn new(dtype: Dtype, shape: Shape, begin: u64, end: u64) -> Result<Self, ErrorKind> {
        let elements = match shape.elements() {
            Ok(elements) => elements,
            Err(kind) => return Err(kind),
        };
        let needed = match byte_len(dtype, elements) {
            Ok(needed) => needed,
            Err(kind) => return Err(kind),
        };
        match check_range(begin, end, needed) {
            Ok(()) => Ok(Self { dtype, shape, begin, end }),
            Err(kind) => Err(kind),
        }
    }

    /// A tensor that has been checked already.
    pub(crate) const fn checked(dtype: Dtype, shape: Shape, place: Extent) -> Self {
        let Extent { begin, end, .. } = place;
        Self { dtype, shape, begin, end }
    }

    /// The element type.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The shape.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// First byte, counted from the start of the data.
    pub const fn begin(&self) -> u64 {
        self.begin
    }

    /// First byte behind the tensor, counted from the start of the data.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Length in bytes.
    pub const fn byte_len(&self) -> u64 {
        self.end.wrapping_sub(self.begin) // cannot wrap: `new` saw to it
    }
}

/// The place of one tensor, and where the header says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Where its first offset stands in the header.
    pub(crate) begin_at: u32,
}

/// How many bytes `elements` elements of `dtype` take. There is no padding in the format: elements
/// narrower than a byte must fill whole bytes together.
///
/// # Errors
/// [`ErrorKind::Overflow`] when the number of *bits* exceeds 64 bits, as in the reference;
/// [`ErrorKind::SubByte`] when a part of a byte is left over.
pub(crate) const fn byte_len(dtype: Dtype, elements: u64) -> Result<u64, ErrorKind> {
    let bits = dtype.bits();
    match elements.checked_mul(bits as u64) {
        None => Err(ErrorKind::Overflow),
        Some(total) if total & 7 != 0 => Err(ErrorKind::SubByte { elements, bits }),
        Some(total) => Ok(total >> 3),
    }
}

/// Checks that `begin..end` spans exactly `needed` bytes.
///
/// # Errors
/// [`ErrorKind::Reversed`] or [`ErrorKind::Size`].
pub(crate) const fn check_range(begin: u64, end: u64, needed: u64) -> Result<(), ErrorKind> {
    match end.checked_sub(begin) {
        None => Err(ErrorKind::Reversed { begin, end }),
        Some(range) if range != needed => Err(ErrorKind::Size { range, needed }),
        Some(_) => Ok(()),
    }
}
