//! Elements that are read and written in place. Apart from the code that maps files, this is the only
//! `unsafe` code in the crate.
//!
//! The safety argument for all of it:
//!
//! * A [`Native`] type is a plain number or a pair of them, without padding. Every bit pattern is a valid
//!   value, and every value is made of initialised bytes. The trait is sealed, and [`Array`] only adds
//!   repetition.
//! * The address of an [`Aligned`] is a multiple of its `align`. There are three sources for that: the type
//!   of an [`AlignedFile`], the address itself, or the alignment 1. The alignment of a part divides both
//!   the alignment of the original and the offset of the part in it.
//!
//! So code that has compared the length and the alignment may view the bytes as elements for the lifetime
//! of the borrow.

use crate::dtype::Dtype;
use crate::shape::Shape;

/// A type whose layout in memory, on a little-endian target, is that of a tensor's elements in a file:
/// `f32` and `f64`, the integers of 8 to 64 bits, [`C64`], and with the feature `half` its `f16` and
/// `bf16`.
///
/// No other types qualify. A BOOL in a file may be any byte. 8-bit floats and elements narrower than a byte
/// are read as bytes or as values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read in place",
    label = "not a type of elements",
    note = "BOOL, 8-bit floats and elements narrower than a byte are read as bytes (`Tensor::bytes`) or as \
            values (`Tensor::reader`, then `values`); F16 and BF16 as those of the crate \
            `half`, with the feature `half`"
)]
pub trait Native: sealed::Native + Copy + 'static {
    /// The dtype of such elements in a file.
    const DTYPE: Dtype;
}

/// A complex number of two `f32`, with the layout of a C64 element.
///
/// *Memory*: 8 bytes, `Copy`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(C)]
pub struct C64 {
    /// The real part.
    pub re: f32,
    /// The imaginary part.
    pub im: f32,
}

mod sealed {
    pub trait Native {}
    pub trait Array {}
    pub trait Alignment {}
}

macro_rules! native {
    ($($type:ty: $dtype:ident),* $(,)?) => {$(
        impl sealed::Native for $type {}
        impl Native for $type {
            const DTYPE: Dtype = Dtype::$dtype;
        }
    )*};
}

native!(
    u8: U8, i8: I8, u16: U16, i16: I16, u32: U32, i32: I32, u64: U64, i64: I64, f32: F32, f64: F64, C64: C64,
);

#[cfg(feature = "half")]
native!(half::f16: F16, half::bf16: BF16);

/// A [`Native`] type, or nested arrays of one, such as `[[f32; 16]; 32]`. The type determines the dtype and
/// the shape that a tensor must have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a type of elements nor an array of such",
    label = "not a type of elements, nor an array of such",
    note = "arrays are of `f32`, `f64`, integers of 8 to 64 bits or `C64`, as in `[[f32; 16]; 32]`, and with \
            the feature `half` of its `f16` and `bf16`; BOOL, 8-bit floats and what is narrower than a byte \
            are read as bytes (`Tensor::bytes`) or as values (`Tensor::reader`, then `values`)"
)]
pub trait Array: sealed::Array + 'static {
    /// The dtype of its elements.
    const DTYPE: Dtype;
    /// Its dimensions, outermost first. More than [`MAX_RANK`](crate::tensor::MAX_RANK) fail the build.
    const SHAPE: Shape;
}

impl<T: Native> sealed::Array for T {}
impl<T: Native> Array for T {
    const DTYPE: Dtype = T::DTYPE;
    const SHAPE: Shape = Shape::SCALAR;
}

impl<T: Array, const N: usize> sealed::Array for [T; N] {}
impl<T: Array, const N: usize> Array for [T; N] {
    const DTYPE: Dtype = T::DTYPE;
    const SHAPE: Shape = match T::SHAPE.of_many(N as u64) {
        Ok(shape) => shape,
        Err(_) => panic!("the array has more dimensions than a shape holds"),
    };
}

/// Bytes whose address is known to be a multiple of a power of two.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Aligned<'a> {
    bytes: &'a [u8],
    /// The address is a multiple of this.
    align: usize,
}

impl<'a> Aligned<'a> {
    /// Creates bytes at an address that is not known, as in const evaluation.
    pub(crate) const fn anywhere(bytes: &'a [u8]) -> Self {
        Self { bytes, align: 1 }
    }

    /// Creates bytes and takes the alignment from their address, which const evaluation cannot.
    #[inline]
    pub(crate) fn at_address(bytes: &'a [u8]) -> Self {
        Self { bytes, align: 1 << bytes.as_ptr().addr().trailing_zeros().min(12) }
    }

    /// Returns the bytes of a file, aligned by its type.
    pub(crate) const fn file<const ALIGN: usize, const LEN: usize>(file: &'a AlignedFile<ALIGN, LEN>) -> Self
    where
        Align<ALIGN>: Alignment,
    {
        Self { bytes: &file.bytes, align: ALIGN }
    }

    /// Returns `len` bytes from `begin` on, or `None` if there are fewer.
    #[inline]
    pub(crate) const fn part(self, begin: usize, len: usize) -> Option<Self> {
        let Some((_, from)) = self.bytes.split_at_checked(begin) else { return None };
        let Some((bytes, _)) = from.split_at_checked(len) else { return None };
        // The lowest bit that is set in either.
        let both = self.align | begin;
        Some(Self { bytes, align: both & both.wrapping_neg() })
    }

    pub(crate) const fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns all bytes as elements, if the length and the alignment permit it. An empty slice needs no
    /// alignment.
    #[inline]
    pub(crate) const fn as_slice<T: Native>(self) -> Option<&'a [T]> {
        if self.bytes.is_empty() {
            return Some(&[]);
        }
        let len = self.bytes.len() >> size_of::<T>().trailing_zeros();
        if self.align < align_of::<T>() || len << size_of::<T>().trailing_zeros() != self.bytes.len() {
            return None;
        }
        // SAFETY: `size_of::<T>()` is a power of two, so `len` elements cover exactly these bytes. Their
        // address is a multiple of the alignment of `T`. Any bytes are a valid `T`; see above.
        Some(unsafe { core::slice::from_raw_parts(self.bytes.as_ptr().cast(), len) })
    }

    /// Returns all bytes as one array, if the length and the alignment permit it. An array of size 0 needs
    /// no alignment.
    pub(crate) const fn as_array<T: Array>(self) -> Option<&'a T> {
        if size_of::<T>() != self.bytes.len() {
            return None;
        }
        let place: *const T = match size_of::<T>() {
            0 => core::ptr::NonNull::dangling().as_ptr(),
            _ if self.align < align_of::<T>() => return None,
            _ => self.bytes.as_ptr().cast(),
        };
        // SAFETY: there are exactly `size_of::<T>()` bytes: none, or at an address that is a multiple of
        // the alignment. Any bytes are a valid `T`; see above.
        Some(unsafe { &*place })
    }
}

/// Returns the memory of the values as bytes, for elements that are read there as they are in the file.
pub const fn bytes_of_mut<T: Native>(values: &mut [T]) -> &mut [u8] {
    let len = size_of_val(values);
    // SAFETY: this is the same memory for the same lifetime. Bytes need no alignment, all bytes of a `T`
    // are initialised, and any bytes written are a valid `T`; see above.
    unsafe { core::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), len) }
}

/// Returns the bytes as values, for writing; `None` unless their address is aligned for the type.
pub(crate) fn values_of_mut<T: Native>(bytes: &mut [u8]) -> Option<&mut [T]> {
    let place = bytes.as_mut_ptr();
    if place.addr() & (align_of::<T>() - 1) != 0 {
        return None;
    }
    // SAFETY: this is the same memory for the same lifetime, without a remainder. Its address is a multiple
    // of the alignment. Any bytes are a valid `T`, and all bytes of a `T` are initialised; see above.
    Some(unsafe { core::slice::from_raw_parts_mut(place.cast(), bytes.len() / size_of::<T>()) })
}

/// Returns the bytes of the values, in native byte order.
const fn bytes_of<T: Native>(values: &[T]) -> &[u8] {
    // SAFETY: this is the same memory for the same lifetime. Bytes need no alignment, and all bytes of a
    // `T` are initialised; see above.
    unsafe { core::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Returns the values as their bytes in a file. On a little-endian target that is one part, which is not
/// copied.
#[inline]
pub fn parts<T: Native>(values: &[T]) -> Parts<'_> {
    let unit = match T::DTYPE {
        Dtype::C64 => size_of::<f32>(),
        _ => size_of::<T>(),
    };
    let unit = if cfg!(target_endian = "big") { unit } else { 1 };
    Parts { left: bytes_of(values), unit, block: [0; BLOCK] }
}

/// How many bytes are swapped at a time.
const BLOCK: usize = 64;

/// The bytes of values in a file, part by part.
pub struct Parts<'v> {
    left: &'v [u8],
    /// The size of the units whose bytes are swapped; 1 for no swapping.
    unit: usize,
    block: [u8; BLOCK],
}

impl Parts<'_> {
    pub(crate) const fn len(&self) -> usize {
        self.left.len()
    }

    /// Returns the next part, empty at the end.
    #[inline]
    #[allow(clippy::should_implement_trait)] // the part borrows from `self`
    pub fn next(&mut self) -> &[u8] {
        match self.unit {
            1 => core::mem::take(&mut self.left),
            _ => self.next_swapped(),
        }
    }

    #[inline(never)]
    fn next_swapped(&mut self) -> &[u8] {
        let (now, rest) = self.left.split_at_checked(BLOCK).unwrap_or((self.left, &[]));
        self.left = rest;
        let len = crate::util::bytes::copy(&mut self.block, now);
        let part = self.block.get_mut(..len).unwrap_or_default();
        swap_units(part, self.unit);
        part
    }
}

/// Reverses the bytes of each unit.
fn swap_units(bytes: &mut [u8], unit: usize) {
    let mut left = bytes;
    while let Some((unit_bytes, rest)) = left.split_at_mut_checked(unit) {
        unit_bytes.reverse();
        left = rest;
        if left.is_empty() {
            break;
        }
    }
}

/// Returns the bytes in groups of `W`, without the remainder. `chunks_exact` would check its argument for 0
/// at run time, and panic with a message, when compiled for size.
pub(crate) const fn groups<const W: usize>(bytes: &[u8]) -> &[[u8; W]] {
    const { assert!(W > 0) };
    // SAFETY: the groups cover no more than these bytes, and bytes need no alignment.
    unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / W) }
}

/// A file that is aligned to `ALIGN` bytes in memory, as created by
/// [`include_aligned!`](crate::include_aligned).
///
/// *Memory*: the file, rounded up to a multiple of `ALIGN`; in flash if it is a `static`.
#[repr(C)]
pub struct AlignedFile<const ALIGN: usize, const LEN: usize>
where
    Align<ALIGN>: Alignment,
{
    align: [<Align<ALIGN> as Alignment>::Unit; 0],
    bytes: [u8; LEN],
}

impl<const ALIGN: usize, const LEN: usize> AlignedFile<ALIGN, LEN>
where
    Align<ALIGN>: Alignment,
{
    /// Creates a file from its bytes.
    pub const fn new(bytes: [u8; LEN]) -> Self {
        Self { align: [], bytes }
    }

    /// Copies the first `LEN` bytes.
    #[doc(hidden)]
    pub const fn copy(bytes: &[u8]) -> Self {
        match bytes.first_chunk() {
            Some(file) => Self::new(*file),
            None => panic!("the file is shorter than it is long"),
        }
    }

    /// Returns the bytes of the file.
    pub const fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl<const ALIGN: usize, const LEN: usize> core::ops::Deref for AlignedFile<ALIGN, LEN>
where
    Align<ALIGN>: Alignment,
{
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<const ALIGN: usize, const LEN: usize> core::fmt::Debug for AlignedFile<ALIGN, LEN>
where
    Align<ALIGN>: Alignment,
{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "AlignedFile<{ALIGN}, {LEN}>")
    }
}

#[cfg(feature = "defmt")]
impl<const ALIGN: usize, const LEN: usize> defmt::Format for AlignedFile<ALIGN, LEN>
where
    Align<ALIGN>: Alignment,
{
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "AlignedFile<{=usize}, {=usize}>", ALIGN, LEN);
    }
}

/// An alignment, as a type.
///
/// *Memory*: none, it has no values.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Align<const N: usize> {}

/// The alignments that [`AlignedFile`] supports: the powers of two from 4 to 4096.
#[diagnostic::on_unimplemented(
    message = "a file cannot be aligned so",
    label = "take a power of two from 4 to 4096"
)]
pub trait Alignment: sealed::Alignment {
    #[doc(hidden)]
    type Unit: Copy;
}

macro_rules! alignments {
    ($($unit:ident: $align:literal),* $(,)?) => {$(
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[repr(align($align))]
        pub struct $unit;
        impl sealed::Alignment for Align<$align> {}
        impl Alignment for Align<$align> {
            type Unit = $unit;
        }
    )*};
}

alignments!(
    Unit4: 4, Unit8: 8, Unit16: 16, Unit32: 32, Unit64: 64, Unit128: 128, Unit256: 256, Unit512: 512,
    Unit1024: 1024, Unit2048: 2048, Unit4096: 4096,
);

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    /// Bytes 0, 1, 2, … at a multiple of 4096.
    static FILE: AlignedFile<4096, 4096> = {
        let mut bytes = [0_u8; 4096];
        let mut i = 1;
        while i < 4096 {
            bytes[i] = bytes[i - 1].wrapping_add(1);
            i += 1;
        }
        AlignedFile::new(bytes)
    };

    fn address(bytes: &[u8]) -> usize {
        bytes.as_ptr().addr()
    }

    #[test]
    fn part_has_alignment_of_its_address() {
        let whole = Aligned::file(&FILE);
        for begin in 0..=4096 {
            let part = whole.part(begin, 4096 - begin).expect("in range");
            assert_eq!(address(part.bytes) % part.align, 0, "at {begin}");
            assert_eq!(part.align, if begin == 0 { 4096 } else { 1 << begin.trailing_zeros() });
            assert!(Aligned::at_address(part.bytes).align >= part.align);
            let again = part.part(24, 0);
            assert!(
                again
                    .is_none_or(|again| address(again.bytes).is_multiple_of(again.align) && again.align <= 8)
            );
        }
        assert!(
            whole.part(4097, 0).is_none()
                && whole.part(1, 4096).is_none()
                && whole.part(usize::MAX, 2).is_none()
        );
    }

    #[test]
    fn unaligned_bytes_are_read_only_as_bytes() {
        let anywhere = Aligned::anywhere(&FILE);
        assert_eq!(anywhere.as_slice::<u8>(), Some(&FILE[..]));
        assert!(anywhere.as_slice::<u16>().is_none() && anywhere.as_array::<[f32; 1024]>().is_none());
        assert_eq!(anywhere.part(7, 3).and_then(|part| part.as_array::<[i8; 3]>()), Some(&[7, 8, 9]));
    }

    /// Compares the elements with the values of their bytes, at every offset and length up to 40.
    fn check_elements<T: Native + PartialEq>(value: impl Fn(&[u8]) -> T) {
        let size = size_of::<T>();
        for (begin, len) in (0..40).flat_map(|begin| (0..40).map(move |len| (begin, len))) {
            let part = Aligned::file(&FILE).part(begin, len).expect("in range");
            let is_whole = len % size == 0;
            let is_aligned = begin % align_of::<T>() == 0 || len == 0;
            let expected: Option<Vec<T>> =
                (is_whole && is_aligned).then(|| part.bytes.chunks(size).map(&value).collect());
            assert!(part.as_slice::<T>() == expected.as_deref(), "{len} bytes at {begin}");
            assert!(Aligned::at_address(part.bytes).as_slice::<T>() == expected.as_deref());
        }
    }

    #[test]
    fn elements_have_values_of_their_bytes() {
        check_elements(|bytes| bytes[0]);
        check_elements(|bytes| i8::from_ne_bytes(bytes.try_into().unwrap()));
        check_elements(|bytes| u16::from_ne_bytes(bytes.try_into().unwrap()));
        check_elements(|bytes| i32::from_ne_bytes(bytes.try_into().unwrap()));
        check_elements(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap()));
        check_elements(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap()));
        check_elements(|bytes| {
            let half = |half: &[u8]| f32::from_ne_bytes(half.try_into().unwrap());
            C64 { re: half(&bytes[..4]), im: half(&bytes[4..]) }
        });
    }

    #[test]
    fn arrays_need_exact_length_and_alignment() {
        for begin in 0..16 {
            let part = Aligned::file(&FILE).part(begin, 24).expect("in range");
            let expected: Vec<f32> =
                part.bytes.chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect();
            let array = part.as_array::<[[f32; 2]; 3]>();
            assert_eq!(array.is_some(), begin % 4 == 0);
            assert!(array.is_none_or(|array| array.as_flattened() == expected));
            assert!(part.as_array::<[f32; 7]>().is_none() && part.as_array::<[f32; 5]>().is_none());
        }
        assert!(Aligned::file(&FILE).part(8, 8).and_then(|part| part.as_array::<C64>()).is_some());
    }

    #[test]
    fn empty_bytes_need_no_alignment() {
        let empty = Aligned::anywhere(&[]);
        assert_eq!(empty.as_slice::<u64>(), Some(&[][..]));
        assert_eq!(empty.as_array::<[[f64; 0]; 3]>(), Some(&[[], [], []]));
        assert!(empty.as_array::<[f64; 1]>().is_none());
        assert_eq!(Aligned::file(&FILE).part(3, 0).and_then(|part| part.as_array::<[f64; 0]>()), Some(&[]));
    }

    /// Checks a `static` of each alignment.
    macro_rules! check_alignments {
        ($($align:literal)*) => {$({
            static ODD: AlignedFile<$align, 3> = AlignedFile::copy(b"odd");
            assert_eq!(address(&ODD) % $align, 0);
            assert_eq!((&ODD[..], ODD.bytes()), (&b"odd"[..], &b"odd"[..]));
            assert_eq!((align_of_val(&ODD), size_of_val(&ODD)), ($align, $align));
            assert_eq!(Aligned::file(&ODD).align, $align);
        })*};
    }

    #[test]
    fn file_is_aligned_as_its_type() {
        check_alignments!(4 8 16 32 64 128 256 512 1024 2048 4096);
    }

    #[test]
    fn bytes_can_be_written_into_values() {
        let mut values = [0_u16; 3];
        bytes_of_mut(&mut values).copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(values, [[1, 2], [3, 4], [5, 6]].map(u16::from_ne_bytes));
        assert!(bytes_of_mut::<f64>(&mut []).is_empty());
    }

    #[test]
    fn parts_are_little_endian() {
        let values: Vec<u16> = (0..100).map(|index| 1000 + index).collect();
        let expected: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let of = |parts: &mut Parts<'_>| {
            assert_eq!(parts.len(), 200);
            let mut all: Vec<u8> = Vec::new();
            while let part @ [_, ..] = parts.next() {
                all.extend(part);
            }
            all
        };
        assert_eq!(of(&mut parts(&values)), expected);
        let swapped: Vec<u16> = values.iter().map(|value| value.swap_bytes()).collect();
        let other_endian = Parts { left: bytes_of(&swapped), unit: 2, block: [0; BLOCK] };
        if cfg!(target_endian = "little") {
            assert_eq!(of(&mut { other_endian }), expected);
        }
        let mut pairs = [1, 2, 3, 4, 5, 6, 7, 8];
        swap_units(&mut pairs, 4);
        assert_eq!(pairs, [4, 3, 2, 1, 8, 7, 6, 5]);
        swap_units(&mut pairs, 8);
        assert_eq!(pairs, [5, 6, 7, 8, 1, 2, 3, 4]);
    }

    #[test]
    fn array_has_shape_and_dtype() {
        assert_eq!(<[[f32; 16]; 32]>::SHAPE.dims(), [32, 16]);
        assert_eq!((<[[f32; 16]; 32]>::DTYPE, <i8 as Array>::SHAPE), (Dtype::F32, Shape::SCALAR));
        assert_eq!(<[[[[[[[[u8; 8]; 7]; 6]; 5]; 4]; 3]; 2]; 1]>::SHAPE.dims(), [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
