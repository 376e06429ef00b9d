//! What a file is to hold.

use crate::dtype::Dtype;
use crate::error::spec::SpecErrorKind;
use crate::shape::elements;

/// One tensor that a file is to hold: its name, its dtype, its dimensions.
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
    /// A tensor of this name, with elements of this dtype, and with these dimensions, outermost first: none for a scalar.
    pub const fn new(name: &'a str, dtype: Dtype, dims: &'a [u64]) -> Self {
        Self { name, dtype, dims }
    }

    /// The name.
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// The type of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The dimensions, outermost first. There may be any number of them.
    pub const fn dims(&self) -> &'a [u64] {
        self.dims
    }

    /// How many bytes its elements take.
    ///
    /// # Errors
    /// [`SpecErrorKind::Overflow`] when 64 bits do not count the bits of it; [`SpecErrorKind::SubByte`] when they do not fill whole bytes.
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

/// Where in a file tensors begin.
///
/// The numbers are powers of two from 8 to 2^26, as no header is longer: 16 for vectors, say, 64 for a line of a cache, 4096 for a
/// page. Places are counted from the beginning of the file, so a file that is mapped or stored at a multiple of the number has its tensors at
/// multiples of it in memory. Every reader takes such files.
///
/// *Memory*: 8 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Placement {
    /// The first tensor begins at a multiple of this, because the header has as many spaces at its end as it takes. The order is the
    /// reference's, so every tensor begins at a multiple of the width of its elements, but at no more. `Start(8)` makes the reference's
    /// bytes.
    Start(u32),
    /// As [`Start`](Self::Start), and every tensor whose size is a multiple of this begins at a multiple of it, because those with a larger
    /// power of two in their size come first; then the order is the reference's. The others begin at a multiple of the power of two in
    /// their own size, and so of the width of their elements. It costs nothing but the spaces in the header.
    BySize(u32),
    /// Every tensor begins at a multiple of this, in the reference's order. Gaps are not allowed in the format, so what is between two
    /// tensors is a tensor too: zeros of U8, called `__padding__.0`, `__padding__.1` and so on, which every reader shows its
    /// user. A program that wants no tensor that it does not know will refuse them.
    Padded(u32),
}

impl Placement {
    /// As the reference places tensors.
    pub(crate) const DEFAULT: Self = Self::Start(8);

    /// At multiples of what the data begin.
    pub(crate) const fn unit(self) -> u32 {
        match self {
            Self::Start(unit) | Self::BySize(unit) | Self::Padded(unit) => unit,
        }
    }
}

/// What a file is to hold: its tensors, its `__metadata__`, where tensors begin. A description; whether there can be such a file is
/// said by what makes a [`FilePlan`](crate::write::FilePlan) of it.
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
    pub(super) room: u32,
}

impl<'a> FileSpec<'a> {
    /// A file of these tensors.
    pub const fn new(tensors: &'a [TensorSpec<'a>]) -> Self {
        Self { tensors, metadata: None, placement: Placement::DEFAULT, room: 0 }
    }

    /// With these keys and values as its `__metadata__`, which may be none. A file of which this is not said has no `__metadata__`.
    #[must_use]
    pub const fn with_metadata(self, pairs: &'a [(&'a str, &'a str)]) -> Self {
        Self { metadata: Some(pairs), ..self }
    }

    /// With tensors that begin where this says, and not only where the reference lets them.
    #[must_use]
    pub const fn with_placement(self, placement: Placement) -> Self {
        Self { placement, ..self }
    }

    /// With at least so many spaces at the end of the header, where the reference leaves less than 8. Names that grow and keys that are added
    /// can fill them later, and then the data need not be moved.
    #[must_use]
    pub const fn with_header_room(self, bytes: u32) -> Self {
        Self { room: bytes, ..self }
    }

    /// The tensors, as they were given.
    pub const fn tensors(&self) -> &'a [TensorSpec<'a>] {
        self.tensors
    }

    /// The keys and values of `__metadata__`, as they were given; none where there is no `__metadata__`.
    pub const fn metadata(&self) -> Option<&'a [(&'a str, &'a str)]> {
        self.metadata
    }

    /// Where tensors begin.
    pub const fn placement(&self) -> Placement {
        self.placement
    }

    /// How many spaces there are at the end of the header at least.
    pub const fn header_room(&self) -> u32 {
        self.room
    }
}
