//! One tensor of a model in memory.

use super::json_str::JsonStr;
use super::walk::ParsedTensor;
use crate::dtype::{Dtype, DtypeSet};
use crate::error::{Error, ErrorKind};
use crate::reader::tensor::TensorReader;
use crate::shape::{Shape, different_axis, shape_mismatch};
use crate::tensor::info::TensorInfo;
use crate::tensor::span::{Located, Location, Span};
use crate::util::bytes::{index_below, low_u32};
use crate::values::native::{Aligned, Array, C64, Native};

/// A tensor of a [`View`](super::View): its name, dtype and shape, and its bytes in place.
///
/// *Memory*: at most 160 bytes, `Copy`; name and bytes are borrowed from the file.
///
/// ```
/// use embedded_safetensors::{Dtype, View};
///
/// # let storage = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"))[..];
/// let model = View::parse(storage)?;
/// let bias = model.tensor("fc2.bias")?;
/// assert_eq!((bias.dtype(), bias.shape().dims()), (Dtype::F32, &[8][..]));
/// assert_eq!(bias.bytes().len(), 32); // `as_f32` returns the elements, if they are aligned
/// # Ok::<(), embedded_safetensors::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    file: Aligned<'a>,
    name: JsonStr<'a>,
    info: TensorInfo,
    data_start: u32,
    /// As in [`ParsedTensor`].
    rank_at: u32,
    /// The hash of the name, or [`NO_HASH`](Self::NO_HASH). A field and not a method, because each call takes
    /// time during const evaluation.
    pub(super) hash: u32,
}

impl<'a> Tensor<'a> {
    /// The hash of a tensor that was found by its name, where it is not computed. The hash of a name can have
    /// this value too, so names must be compared then.
    pub(super) const NO_HASH: u32 = 0;

    pub(super) const NONE: Self = Self {
        file: Aligned::anywhere(&[]),
        name: JsonStr::new(&[], 0),
        info: TensorInfo::NONE,
        data_start: 0,
        rank_at: 0,
        hash: Self::NO_HASH,
    };

    #[inline(always)]
    pub(super) const fn new(file: Aligned<'a>, data_start: u64, parsed: &ParsedTensor<'a>) -> Self {
        Self { hash: parsed.name.hash(), ..Self::without_hash(file, data_start, parsed) }
    }

    /// Creates a tensor that was found by its name.
    #[inline(always)]
    pub(super) const fn without_hash(file: Aligned<'a>, data_start: u64, parsed: &ParsedTensor<'a>) -> Self {
        let ParsedTensor { name, info, rank_at } = *parsed;
        Self { file, name, info, data_start: low_u32(data_start), rank_at, hash: Self::NO_HASH }
    }

    /// Returns the tensor as it was parsed.
    pub(super) const fn parsed(&self) -> ParsedTensor<'a> {
        ParsedTensor { name: self.name, info: self.info, rank_at: self.rank_at }
    }

    /// Returns the name.
    pub const fn name(&self) -> JsonStr<'a> {
        self.name
    }

    /// Returns dtype, shape and range.
    pub const fn info(&self) -> &TensorInfo {
        &self.info
    }

    /// Returns the type of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.info.dtype()
    }

    /// Returns the shape.
    pub const fn shape(&self) -> &Shape {
        self.info.shape()
    }

    /// Returns the bytes in place.
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.aligned().bytes()
    }

    /// Returns the offset of the first byte in the file.
    pub const fn at(&self) -> u64 {
        self.data_start as u64 + self.info.begin()
    }

    /// Returns all elements in place. A tensor without elements is aligned at any address.
    ///
    /// # Errors
    /// All of them at the tensor's first byte: [`ErrorKind::DtypeMismatch`] when it has elements of another
    /// type; [`ErrorKind::BigEndian`] on a big-endian target; [`ErrorKind::Misaligned`] when the first
    /// element is not aligned, with by how much: see [`include_aligned!`](crate::include_aligned).
    #[inline]
    pub fn as_slice<T: Native>(&self) -> Result<&'a [T], Error> {
        self.check_elements(T::DTYPE)?;
        Aligned::at_address(self.bytes()).as_slice().ok_or_else(|| self.misaligned(align_of::<T>()))
    }

    /// Returns all elements in place, as one array or an array of arrays: `as_array::<[[f32; 16]; 32]>()`.
    ///
    /// # Errors
    /// As [`as_slice`](Self::as_slice); [`ErrorKind::RankMismatch`] and [`ErrorKind::ShapeMismatch`] when the
    /// tensor has another shape.
    pub fn as_array<T: Array>(&self) -> Result<&'a T, Error> {
        self.check_elements(T::DTYPE)?;
        let (found, asked) = (self.shape().dims(), T::SHAPE.dims());
        if let Some(axis) = different_axis(found, asked) {
            return Err(shape_mismatch(None, axis, found, asked).at(self.at()));
        }
        Aligned::at_address(self.bytes()).as_array().ok_or_else(|| self.misaligned(align_of::<T>()))
    }

    /// Returns a reader of the tensor, for bytes in chunks, values and slices, as for any storage.
    pub fn reader(&self) -> TensorReader<'_, &'a [u8]> {
        TensorReader { source: self.file.bytes(), span: self.span(), dims: self.shape().dims() }
    }

    pub(super) fn span(&self) -> Span {
        let location =
            Location { dtype: self.dtype(), header: 0, begin: self.info.begin(), end: self.info.end() };
        Span::of(location, self.data_start.into())
    }

    /// Returns the bytes with their known alignment.
    #[inline]
    pub(super) const fn aligned(&self) -> Aligned<'a> {
        let none = Aligned::anywhere(&[]);
        let begin = index_below(self.at(), usize::MAX);
        let len = index_below(self.info.byte_len(), usize::MAX);
        match (begin, len) {
            (Some(begin), Some(len)) => match self.file.part(begin, len) {
                Some(part) => part,
                None => none,
            },
            _ => none,
        }
    }

    #[inline]
    fn check_elements(&self, asked: Dtype) -> Result<(), Error> {
        let found = self.dtype();
        if found != asked {
            let (query, asked) = (None, DtypeSet::of(&[asked]));
            return Err(ErrorKind::DtypeMismatch { query, found, asked }.at(self.at()));
        }
        if cfg!(target_endian = "big") && found.bits() > 8 {
            return Err(ErrorKind::BigEndian.at(self.at()));
        }
        Ok(())
    }

    #[cold]
    fn misaligned(&self, unit: usize) -> Error {
        let (unit, address) = (unit as u64, self.bytes().as_ptr().addr() as u64);
        let over = |address: u64| (address & (unit - 1)).to_le_bytes()[0];
        let kind = ErrorKind::Misaligned {
            unit: unit.to_le_bytes()[0],
            over: over(address),
            over_in_file: over(self.at()),
        };
        kind.at(self.at())
    }
}

/// Defines a method for each element type.
macro_rules! as_native {
    ($($(#[$feature:meta])? $name:ident: $type:ty, $dtype:literal;)*) => {
        impl<'a> Tensor<'a> {
            $(
                #[doc = concat!("As [`as_slice`](Self::as_slice), for ", $dtype, ".")]
                ///
                /// # Errors
                /// As [`as_slice`](Self::as_slice).
                $(#[$feature])?
                #[inline]
                pub fn $name(&self) -> Result<&'a [$type], Error> {
                    self.as_slice()
                }
            )*
        }
    };
}

as_native! {
    as_u8: u8, "U8";
    as_i8: i8, "I8";
    as_u16: u16, "U16";
    as_i16: i16, "I16";
    as_u32: u32, "U32";
    as_i32: i32, "I32";
    as_u64: u64, "U64";
    as_i64: i64, "I64";
    as_f32: f32, "F32";
    as_f64: f64, "F64";
    as_c64: C64, "C64";
    #[cfg(feature = "half")] as_f16: half::f16, "F16";
    #[cfg(feature = "half")] as_bf16: half::bf16, "BF16";
}

impl Located for Tensor<'_> {
    fn locate(&self) -> Result<Location, Error> {
        self.info.locate()
    }

    fn dims(&self) -> &[u64] {
        self.shape().dims()
    }
}

impl core::fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tensor").field("name", &self.name).field("info", &self.info).finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Tensor<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Tensor {{ name: \"{}\", info: {}, .. }}", self.name, self.info);
    }
}
