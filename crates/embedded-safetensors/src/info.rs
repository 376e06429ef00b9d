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
        if agrees(dtype, elements, begin, end) {
            Ok(Self { dtype, shape, begin, end })
        } else {
            Err(disagreement(dtype, elements, begin, end))
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

/// Whether `begin..end` spans exactly the bytes that `elements` elements of `dtype` take. There is no
/// padding in the format: elements narrower than a byte must fill whole bytes together. The number of
/// *bits* must fit into 64 bits, as in the reference.
pub(crate) const fn agrees(dtype: Dtype, elements: u64, begin: u64, end: u64) -> bool {
    match (elements.checked_mul(dtype.bits() as u64), end.checked_sub(begin)) {
        (Some(total), Some(range)) => total & 7 == 0 && total >> 3 == range,
        _ => false,
    }
}

/// Why they do not agree: [`ErrorKind::Overflow`], [`ErrorKind::SubByte`], [`ErrorKind::Reversed`] or
/// [`ErrorKind::Size`].
pub(crate) const fn disagreement(dtype: Dtype, elements: u64, begin: u64, end: u64) -> ErrorKind {
    let bits = dtype.bits();
    match (elements.checked_mul(bits as u64), end.checked_sub(begin)) {
        (None, _) => ErrorKind::Overflow,
        (Some(total), _) if total & 7 != 0 => ErrorKind::SubByte { elements, bits },
        (Some(_), None) => ErrorKind::Reversed { begin, end },
        (Some(total), Some(range)) => ErrorKind::Size { range, needed: total >> 3 },
    }
}
