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
        match Agreement::of(dtype, elements, begin, end) {
            Agreement::Full => Ok(Self { dtype, shape, begin, end }),
            lack => Err(lack.kind(dtype, elements, begin, end)),
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

/// Whether `begin..end` spans exactly the bytes that `elements` elements of `dtype` take, or what is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agreement {
    Full,
    /// The number of *bits* does not fit into 64 bits, as in the reference.
    Overflow,
    /// There is no padding in the format: elements narrower than a byte must fill whole bytes together.
    SubByte,
    Reversed,
    Size,
}

impl Agreement {
    pub(crate) const fn of(dtype: Dtype, elements: u64, begin: u64, end: u64) -> Self {
        match (elements.checked_mul(dtype.bits() as u64), end.checked_sub(begin)) {
            (None, _) => Self::Overflow,
            (Some(total), _) if total & 7 != 0 => Self::SubByte,
            (_, None) => Self::Reversed,
            (Some(total), Some(range)) if total >> 3 != range => Self::Size,
            _ => Self::Full,
        }
    }

    /// What is wrong, with its numbers.
    pub(crate) const fn kind(self, dtype: Dtype, elements: u64, begin: u64, end: u64) -> ErrorKind {
        let bits = dtype.bits();
        match self {
            Self::Overflow => ErrorKind::Overflow,
            Self::SubByte => ErrorKind::SubByte { elements, bits },
            Self::Reversed => ErrorKind::Reversed { begin, end },
            // Neither can wrap: that would be one of those above.
            Self::Size | Self::Full => {
                let needed = elements.wrapping_mul(bits as u64) >> 3;
                ErrorKind::Size { range: end.wrapping_sub(begin), needed }
            }
        }
    }
}
