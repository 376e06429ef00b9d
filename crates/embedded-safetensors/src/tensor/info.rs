//! One tensor: its dtype, its shape and its place in the file's data.

use crate::dtype::Dtype;
use crate::error::ErrorKind;
use crate::shape::Shape;

/// Where a tensor lies and how to read it. The range counts from the start of the data, which is
/// the end of the header.
///
/// *Memory*: 96 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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
        match mismatch(dtype, elements, begin, end) {
            None => Ok(Self { dtype, shape, begin, end }),
            Some(kind) => Err(kind),
        }
    }

    /// A scalar of no bytes, to make arrays of before there are tensors.
    pub(crate) const NONE: Self = Self { dtype: Dtype::BOOL, shape: Shape::SCALAR, begin: 0, end: 0 };

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
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Extent {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Where its first offset stands in the header.
    pub(crate) begin_at: u32,
}

/// Why `begin..end` does not span exactly the bytes that `elements` elements of `dtype` take, if it does not.
pub(crate) const fn mismatch(dtype: Dtype, elements: u64, begin: u64, end: u64) -> Option<ErrorKind> {
    let bits = dtype.bits();
    match (elements.checked_mul(bits as u64), end.checked_sub(begin)) {
        // The number of *bits* must fit into 64 bits, as in the reference.
        (None, _) => Some(ErrorKind::Overflow),
        // There is no padding in the format: elements narrower than a byte must fill whole bytes together.
        (Some(total), _) if total & 7 != 0 => Some(ErrorKind::SubByte { elements, bits }),
        (_, None) => Some(ErrorKind::Reversed { begin, end }),
        (Some(total), Some(range)) if total >> 3 != range => {
            Some(ErrorKind::Size { range, needed: total >> 3 })
        }
        _ => None,
    }
}

/// Whether a mismatch is reported at the shape. All others are reported at the first offset.
pub(crate) const fn is_of_shape(mismatch: ErrorKind) -> bool {
    matches!(mismatch, ErrorKind::Overflow | ErrorKind::SubByte { .. })
}
