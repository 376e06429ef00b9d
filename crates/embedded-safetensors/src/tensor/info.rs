//! One tensor: its dtype, its shape and its place in the file's data.

use crate::dtype::Dtype;
use crate::error::ErrorKind;
use crate::shape::Shape;

/// A tensor's dtype, shape and place in the file. The range counts from the start of the data, which is the
/// end of the header.
///
/// *Memory*: 96 bytes, `Copy`.
///
/// ```
/// # use embedded_safetensors::Model;
/// # let storage = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"))[..];
/// # let mut window = [0; 64];
/// # let mut model = Model::open(storage, &mut window)?;
/// let weight = model.find("fc1.weight", &mut window)?.ok_or("no weight")?;
/// assert_eq!(weight.shape().dims(), [64, 32]);
/// let at = model.summary().data_start + weight.begin(); // the offset of its first byte in the file
/// # assert_eq!(at, 352 + 2592);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TensorInfo {
    dtype: Dtype,
    shape: Shape,
    begin: u64,
    end: u64,
}

impl TensorInfo {
    /// Creates a tensor whose range, dtype and shape agree.
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

    /// A scalar of no bytes, to initialise arrays with.
    pub(crate) const NONE: Self = Self { dtype: Dtype::BOOL, shape: Shape::SCALAR, begin: 0, end: 0 };

    /// Creates a tensor that has been validated already.
    pub(crate) const fn checked(dtype: Dtype, shape: Shape, extent: Extent) -> Self {
        let Extent { begin, end, .. } = extent;
        Self { dtype, shape, begin, end }
    }

    /// Returns the element type.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns the shape.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the first byte, counted from the start of the data.
    pub const fn begin(&self) -> u64 {
        self.begin
    }

    /// Returns the first byte after the tensor, counted from the start of the data.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Returns the length in bytes.
    pub const fn byte_len(&self) -> u64 {
        self.end.wrapping_sub(self.begin) // cannot wrap: `new` has validated it
    }
}

/// The range of one tensor, and where it is in the header.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Extent {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Where its first offset is in the header.
    pub(crate) begin_at: u32,
}

/// Whether `begin..end` spans exactly the bytes that `elements` elements of `dtype` take.
pub(crate) const fn is_consistent(dtype: Dtype, elements: u64, begin: u64, end: u64) -> bool {
    // The number of *bits* must fit into 64 bits, as in the reference.
    let Some(bits) = elements.checked_mul(dtype.bits() as u64) else { return false };
    match begin.checked_add(bits >> 3) {
        Some(needed) => bits & 7 == 0 && needed == end,
        None => false,
    }
}

/// Returns the error if `begin..end` does not span exactly the bytes that `elements` elements of `dtype`
/// take.
pub(crate) const fn mismatch(dtype: Dtype, elements: u64, begin: u64, end: u64) -> Option<ErrorKind> {
    if is_consistent(dtype, elements, begin, end) {
        None
    } else {
        Some(inconsistency(dtype, elements, begin, end))
    }
}

/// Returns the error for a tensor that [is not consistent](is_consistent).
pub(crate) const fn inconsistency(dtype: Dtype, elements: u64, begin: u64, end: u64) -> ErrorKind {
    let bits = dtype.bits();
    match (elements.checked_mul(bits as u64), end.checked_sub(begin)) {
        (None, _) => ErrorKind::Overflow,
        // There is no padding in the format: elements narrower than a byte must fill whole bytes together.
        (Some(total), _) if total & 7 != 0 => ErrorKind::SubByte { elements, bits },
        (_, None) => ErrorKind::Reversed { begin, end },
        (Some(total), Some(range)) => ErrorKind::Size { range, needed: total >> 3 },
    }
}

/// Whether an inconsistency is reported at the shape. All others are reported at the first offset.
pub(crate) const fn is_of_shape(mismatch: ErrorKind) -> bool {
    matches!(mismatch, ErrorKind::Overflow | ErrorKind::SubByte { .. })
}
