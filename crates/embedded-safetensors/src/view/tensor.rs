//! One tensor of a model in memory.

use super::json_str::JsonStr;
use super::walk::Seen;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::reader::tensor::TensorReader;
use crate::shape::Shape;
use crate::tensor::info::TensorInfo;
use crate::tensor::location::{Located, Location};
use crate::tensor::span::Span;
use crate::util::bytes::{index_below, low_u32};
use crate::values::native::{Aligned, Array, C64, Native};

/// A tensor of a [`View`](super::View): what it is, and its bytes where they lie.
///
/// *Memory*: at most 160 bytes, `Copy`; name and bytes are borrowed from the file.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    file: Aligned<'a>,
    name: JsonStr<'a>,
    info: TensorInfo,
    data_start: u32,
    /// As [`Seen`] has it.
    rank_at: u32,
    /// Of the name, or [`NO_HASH`](Self::NO_HASH). Looked at without a call, each of which takes a compiler time.
    pub(super) hash: u32,
}

impl<'a> Tensor<'a> {
    /// Of a tensor that was found by its name, whose hash nobody may ever want; or what its name happens to have. Names must be compared then.
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
    pub(super) const fn new(file: Aligned<'a>, data_start: u64, seen: &Seen<'a>) -> Self {
        Self { hash: seen.name.hash(), ..Self::found(file, data_start, seen) }
    }

    /// One that was found by its name.
    #[inline(always)]
    pub(super) const fn found(file: Aligned<'a>, data_start: u64, seen: &Seen<'a>) -> Self {
        let Seen { name, info, rank_at } = *seen;
        Self { file, name, info, data_start: low_u32(data_start), rank_at, hash: Self::NO_HASH }
    }

    /// What was seen of it.
    pub(super) const fn seen(&self) -> Seen<'a> {
        Seen { name: self.name, info: self.info, rank_at: self.rank_at }
    }

    /// The name.
    pub const fn name(&self) -> JsonStr<'a> {
        self.name
    }

    /// Dtype, shape and range.
    pub const fn info(&self) -> &TensorInfo {
        &self.info
    }

    /// The type of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.info.dtype()
    }

    /// The shape.
    pub const fn shape(&self) -> &Shape {
        self.info.shape()
    }

    /// The bytes, where they lie.
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.aligned().bytes()
    }

    /// Where in the file the first byte lies.
    pub const fn at(&self) -> u64 {
        self.data_start as u64 + self.info.begin()
    }

    /// All elements, where they lie. None has any place to be at, so a tensor without elements lies right everywhere.
    ///
    /// # Errors
    /// All of them at the tensor's first byte: [`ErrorKind::DtypeMismatch`] when it has elements of another type;
    /// [`ErrorKind::BigEndian`] where the machine has the high byte first; [`ErrorKind::Misaligned`] when the first one does not
    /// lie where the machine can read it, with by how much: see [`include_aligned!`](crate::include_aligned).
    #[inline]
    pub fn as_slice<T: Native>(&self) -> Result<&'a [T], Error> {
        self.check_elements(T::DTYPE)?;
        Aligned::at_address(self.bytes()).as_slice().ok_or_else(|| self.misaligned(align_of::<T>()))
    }

    /// All elements as one array, or array of arrays, where they lie: `as_array::<[[f32; 16]; 32]>()`.
    ///
    /// # Errors
    /// As [`as_slice`](Self::as_slice); [`ErrorKind::ShapeMismatch`] when the tensor has another shape.
    pub fn as_array<T: Array>(&self) -> Result<&'a T, Error> {
        self.check_elements(T::DTYPE)?;
        if *self.shape() != T::SHAPE {
            return Err(ErrorKind::ShapeMismatch.at(self.at()));
        }
        Aligned::at_address(self.bytes()).as_array().ok_or_else(|| self.misaligned(align_of::<T>()))
    }

    /// Reads the bytes in chunks, the elements as values, or a part of them, as from any storage.
    pub fn reader(&self) -> TensorReader<'_, &'a [u8]> {
        TensorReader::new(self.file.bytes(), self.span(), self.shape().dims())
    }

    pub(super) fn span(&self) -> Span {
        let place = Location { dtype: self.dtype(), begin: self.info.begin(), end: self.info.end() };
        Span::of(place, self.data_start.into())
    }

    /// The bytes, and what their type says of their place.
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
            return Err(ErrorKind::DtypeMismatch { found, asked }.at(self.at()));
        }
        if cfg!(target_endian = "big") && found.bits() > 8 {
            return Err(ErrorKind::BigEndian.at(self.at()));
        }
        Ok(())
    }

    #[cold]
    fn misaligned(&self, unit: usize) -> Error {
        let (unit, address) = (unit as u64, self.bytes().as_ptr().addr() as u64);
        let over = |place: u64| (place & (unit - 1)).to_le_bytes()[0];
        let kind = ErrorKind::Misaligned {
            unit: unit.to_le_bytes()[0],
            over: over(address),
            over_in_file: over(self.at()),
        };
        kind.at(self.at())
    }
}

/// The elements of one type, by its name.
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
