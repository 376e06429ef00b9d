//! The description of a file to write.

use crate::dtype::Dtype;
use crate::error::spec::SpecErrorKind;
use crate::shape::elements;

/// A tensor to write: its name, dtype and dimensions.
///
/// *Memory*: 40 bytes, 20 where pointers have 32 bits; `Copy`. The name and the dimensions are borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TensorSpec<'a> {
    name: &'a str,
    dtype: Dtype,
    dims: &'a [u64],
}

impl<'a> TensorSpec<'a> {
    /// Creates a tensor of this name, dtype and dimensions, outermost first. A scalar has no dimensions.
    pub const fn new(name: &'a str, dtype: Dtype, dims: &'a [u64]) -> Self {
        Self { name, dtype, dims }
    }

    /// Returns the name.
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the type of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns the dimensions, outermost first. There may be any number of them.
    pub const fn dims(&self) -> &'a [u64] {
        self.dims
    }

    /// Returns the length of the elements in bytes.
    ///
    /// # Errors
    /// [`SpecErrorKind::Overflow`] when the number of bits does not fit in 64 bits;
    /// [`SpecErrorKind::SubByte`] when the elements do not fill whole bytes.
    pub const fn byte_len(&self) -> Result<u64, SpecErrorKind> {
        let Ok(elements) = elements(self.dims) else { return Err(SpecErrorKind::Overflow) };
        let bits = self.dtype.bits();
        match elements.checked_mul(bits as u64) {
            None => Err(SpecErrorKind::Overflow),
            Some(total) if total & 7 != 0 => Err(SpecErrorKind::SubByte { elements, bits }),
            Some(total) => Ok(total >> 3),
        }
    }
}

/// The alignment of tensors in a file.
///
/// The numbers are powers of two from 8 to 2^26, as no header is longer: 16 for vectors, 64 for a cache line,
/// 4096 for a page. Offsets are counted from the beginning of the file. So a file that is mapped or stored at
/// a multiple of the number has its tensors at multiples of it in memory. Every reader accepts such files.
///
/// *Memory*: 8 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Placement {
    /// The first tensor begins at a multiple of this: the header is padded with spaces. The order is that of
    /// the reference implementation, so every other tensor is aligned to the width of its elements, and no
    /// further. `Start(8)` writes the same bytes as the reference.
    Start(u32),
    /// As [`Start`](Self::Start), and every tensor whose size is a multiple of this begins at a multiple of
    /// it. Tensors with a larger power of two in their size come first; ties are in the reference's order.
    /// The other tensors begin at a multiple of the power of two in their own size, and so of the width of
    /// their elements. It costs only the spaces in the header.
    BySize(u32),
    /// Every tensor begins at a multiple of this, in the reference's order. The format does not allow gaps,
    /// so the padding between two tensors is a tensor too: zeros of U8, called `__padding__.0`,
    /// `__padding__.1` and so on. Every reader lists these tensors, and a program that rejects unknown
    /// tensors rejects such a file.
    Padded(u32),
}

impl Placement {
    /// The placement of the reference.
    pub(crate) const DEFAULT: Self = Self::Start(8);

    /// Returns the alignment of the data.
    pub(crate) const fn unit(self) -> u32 {
        match self {
            Self::Start(unit) | Self::BySize(unit) | Self::Padded(unit) => unit,
        }
    }
}

/// The description of a file: its tensors, its `__metadata__`, and where tensors begin. The methods that
/// create a [`FilePlan`](crate::write::FilePlan) check that it is valid.
///
/// ```
/// use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec}};
///
/// let tensors = [TensorSpec::new("activations", Dtype::F32, &[64, 10])];
/// let plan = FileSpec::new(&tensors).with_metadata(&[("device", "unit-7")]).plan()?;
/// assert_eq!((plan.data_start(), plan.file_len()), (120, 120 + 64 * 10 * 4));
/// # Ok::<(), embedded_safetensors::write::SpecError>(())
/// ```
///
/// *Memory*: 48 bytes, 28 where pointers have 32 bits; `Copy`. The tensors and the metadata are borrowed.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FileSpec<'a> {
    pub(super) tensors: &'a [TensorSpec<'a>],
    pub(super) metadata: Option<&'a [(&'a str, &'a str)]>,
    pub(super) placement: Placement,
    pub(super) header_room: u32,
}

impl<'a> FileSpec<'a> {
    /// Creates a description of a file with these tensors.
    pub const fn new(tensors: &'a [TensorSpec<'a>]) -> Self {
        Self { tensors, metadata: None, placement: Placement::DEFAULT, header_room: 0 }
    }

    /// Sets the keys and values of `__metadata__`, which may be empty. Without this call the file has no
    /// `__metadata__`.
    #[must_use]
    pub const fn with_metadata(self, pairs: &'a [(&'a str, &'a str)]) -> Self {
        Self { metadata: Some(pairs), ..self }
    }

    /// Sets where tensors begin. The default is the placement of the reference.
    #[must_use]
    pub const fn with_placement(self, placement: Placement) -> Self {
        Self { placement, ..self }
    }

    /// Reserves at least this many spaces at the end of the header; the reference leaves fewer than 8. Longer
    /// names and added keys can use them later without moving the data.
    #[must_use]
    pub const fn with_header_room(self, bytes: u32) -> Self {
        Self { header_room: bytes, ..self }
    }

    /// Returns the tensors, as given.
    pub const fn tensors(&self) -> &'a [TensorSpec<'a>] {
        self.tensors
    }

    /// Returns the keys and values of `__metadata__`, as given, or `None` if the file has no `__metadata__`.
    pub const fn metadata(&self) -> Option<&'a [(&'a str, &'a str)]> {
        self.metadata
    }

    /// Returns where tensors begin.
    pub const fn placement(&self) -> Placement {
        self.placement
    }

    /// Returns the minimum number of spaces at the end of the header.
    pub const fn header_room(&self) -> u32 {
        self.header_room
    }
}
