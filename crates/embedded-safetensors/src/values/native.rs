//! Elements read and written where they lie: with those that map files, the only code of the crate with `unsafe` in it.
//!
//! The argument, once for all of it:
//!
//! * A [`Native`] type is a plain number, or a pair of them, without padding: every pattern of its bits is a value
//!   of it, and every value of it is bytes. The trait is sealed, and [`Array`] adds nothing to it but repetition.
//! * The bytes of an [`Aligned`] begin at a multiple of its `align`. It says so because a type did
//!   ([`AlignedFile`]), because the address was looked at, or because any address is a multiple of 1; a part of it is
//!   said to begin at what both its whole and its offset are multiples of.
//!
//! So whoever compares the length and the alignment may look at the bytes as elements, for as long as they are
//! borrowed.

use crate::dtype::Dtype;
use crate::shape::Shape;

/// A type that is in memory what elements of a tensor are in a file, on a machine with the low byte first:
/// `f32` and `f64`, the integers of 8 to 64 bits, [`C64`], and with the feature `half` its `f16` and `bf16`.
///
/// There are no others: BOOL may be any byte in a file, and what is narrower than a byte or has 8 bits and a point
/// is read as bytes or as values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read where it lies in a file",
    label = "not a type of elements",
    note = "BOOL, 8-bit floats and what is narrower than a byte are read as bytes (`Tensor::bytes`) or as values (`Tensor::reader`, then `values`); F16 and BF16 as those of the crate `half`, with the feature `half`"
)]
pub trait Native: sealed::Native + Copy + 'static {
    /// What its elements are called in a file.
    const DTYPE: Dtype;
}

/// A complex number of two `f32`, as C64 has them.
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

native!(u8: U8, i8: I8, u16: U16, i16: I16, u32: U32, i32: I32, u64: U64, i64: I64, f32: F32, f64: F64, C64: C64);

#[cfg(feature = "half")]
native!(half::f16: F16, half::bf16: BF16);

/// A [`Native`] type, or an array of arrays of one, such as `[[f32; 16]; 32]`: a type that says which dtype and
/// which shape a tensor must have to be one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a type of elements nor an array of such",
    label = "not a type of elements, nor an array of such",
    note = "arrays are of `f32`, `f64`, integers of 8 to 64 bits or `C64`, as in `[[f32; 16]; 32]`, and with the feature `half` of its `f16` and `bf16`; BOOL, 8-bit floats and what is narrower than a byte are read as bytes (`Tensor::bytes`) or as values (`Tensor::reader`, then `values`)"
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

/// Bytes that are known to begin at a multiple of some power of two.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Aligned<'a> {
    bytes: &'a [u8],
    /// At a multiple of this.
    align: usize,
}

impl<'a> Aligned<'a> {
    /// Bytes at an address of which nothing is known, as in const evaluation.
    pub(crate) const fn anywhere(bytes: &'a [u8]) -> Self {
        Self { bytes, align: 1 }
    }

    /// Bytes whose address is looked at, which no const evaluation can.
    #[inline]
    pub(crate) fn at_address(bytes: &'a [u8]) -> Self {
        Self { bytes, align: 1 << bytes.as_ptr().addr().trailing_zeros().min(12) }
    }

    /// The bytes of a file that its type aligns.
    pub(crate) const fn file<const ALIGN: usize, const LEN: usize>(file: &'a AlignedFile<ALIGN, LEN>) -> Self
    where
        Align<ALIGN>: Alignment,
    {
        Self { bytes: &file.bytes, align: ALIGN }
    }

    /// The bytes from `begin` on, `len` of them, if there are so many.
    #[inline]
    pub(crate) const fn part(self, begin: usize, len: usize) -> Option<Self> {
        let Some((_, from)) = self.bytes.split_at_checked(begin) else { return None };
        let Some((bytes, _)) = from.split_at_checked(len) else { return None };
        // The lowest bit of both.
        let both = self.align | begin;
        Some(Self { bytes, align: both & both.wrapping_neg() })
    }

    pub(crate) const fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// All of the bytes as elements, if they are such, and aligned. None of them lie anywhere.
    #[inline]
    pub(crate) const fn as_slice<T: Native>(self) -> Option<&'a [T]> {
        if self.bytes.is_empty() {
            return Some(&[]);
        }
        let len = self.bytes.len() >> size_of::<T>().trailing_zeros();
        if self.align < align_of::<T>() || len << size_of::<T>().trailing_zeros() != self.bytes.len() {
            return None;
        }
        // SAFETY: `len` elements of `T`, a power of two of bytes each, are just these bytes, which begin at a
        // multiple of its alignment. Any bytes are a `T`; see above.
        Some(unsafe { core::slice::from_raw_parts(self.bytes.as_ptr().cast(), len) })
    }

    /// All of the bytes as one array, if they are such, and aligned. None of them lie anywhere.
    pub(crate) const fn as_array<T: Array>(self) -> Option<&'a T> {
        if size_of::<T>() != self.bytes.len() {
            return None;
        }
        let place: *const T = match size_of::<T>() {
            0 => core::ptr::NonNull::dangling().as_ptr(),
            _ if self.align < align_of::<T>() => return None,
            _ => self.bytes.as_ptr().cast(),
        };
        // SAFETY: as many bytes as `T` has, none or at a multiple of its alignment. Any bytes are a `T`; see above.
        Some(unsafe { &*place })
    }
}

/// The bytes that values consist of, to be written.
pub(crate) const fn bytes_of_mut<T: Native>(values: &mut [T]) -> &mut [u8] {
    let len = size_of_val(values);
    // SAFETY: the same memory for as long as it is borrowed; bytes need no alignment, all of those of a `T` are
    // initialised, and whatever is written into them is a `T`; see above.
    unsafe { core::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), len) }
}

/// The bytes that values consist of, in the order of the machine.
const fn bytes_of<T: Native>(values: &[T]) -> &[u8] {
    // SAFETY: the same memory for as long as it is borrowed; bytes need no alignment, and all of those of a `T` are
    // initialised; see above.
    unsafe { core::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Values as the bytes that they are in a file: where the low byte comes first, in one part that is copied nowhere.
#[inline]
pub fn parts<T: Native>(values: &[T]) -> Parts<'_> {
    let unit = match T::DTYPE {
        Dtype::C64 => size_of::<f32>(),
        _ => size_of::<T>(),
    };
    let unit = if cfg!(target_endian = "big") { unit } else { 1 };
    Parts { left: bytes_of(values), unit, block: [0; BLOCK] }
}

/// Of values that must be turned round.
const BLOCK: usize = 64;

/// The bytes of values in a file, part by part.
pub struct Parts<'v> {
    left: &'v [u8],
    /// So many bytes are turned round; one is none.
    unit: usize,
    block: [u8; BLOCK],
}

impl Parts<'_> {
    pub(crate) const fn len(&self) -> usize {
        self.left.len()
    }

    /// The next part, empty when there are no more.
    #[inline]
    #[allow(clippy::should_implement_trait)] // it lends a part of itself
    pub fn next(&mut self) -> &[u8] {
        match self.unit {
            1 => core::mem::take(&mut self.left),
            _ => self.next_turned(),
        }
    }

    #[inline(never)]
    fn next_turned(&mut self) -> &[u8] {
        let (now, rest) = self.left.split_at_checked(BLOCK).unwrap_or((self.left, &[]));
        self.left = rest;
        let len = crate::util::bytes::copy(&mut self.block, now);
        let part = self.block.get_mut(..len).unwrap_or_default();
        turn_round(part, self.unit);
        part
    }
}

/// Turns the bytes of each unit round.
fn turn_round(bytes: &mut [u8], unit: usize) {
    let mut left = bytes;
    while let Some((unit_bytes, rest)) = left.split_at_mut_checked(unit) {
        unit_bytes.reverse();
        left = rest;
        if left.is_empty() {
            break;
        }
    }
}

/// The bytes in groups of `W`, without those that are left over. `chunks_exact` divides by a number that must not be 0,
/// and says so where the compiler wants small code.
pub(crate) const fn groups<const W: usize>(bytes: &[u8]) -> &[[u8; W]] {
    const { assert!(W > 0) };
    // SAFETY: no more groups than there are bytes for, and bytes need no alignment.
    unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / W) }
}

/// A file at a multiple of `ALIGN` bytes in memory, as [`include_aligned!`](crate::include_aligned) makes it.
///
/// *Memory*: the file, rounded up to a multiple of `ALIGN`, in flash where it is a `static`.
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
    /// The file of these bytes.
    pub const fn new(bytes: [u8; LEN]) -> Self {
        Self { align: [], bytes }
    }

    /// A copy of bytes that are `LEN`.
    #[doc(hidden)]
    pub const fn copy(bytes: &[u8]) -> Self {
        match bytes.first_chunk() {
            Some(file) => Self::new(*file),
            None => panic!("the file is shorter than it is long"),
        }
    }

    /// Its bytes.
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
/// *Memory*: none, it is never made.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Align<const N: usize> {}

/// The alignments that [`AlignedFile`] knows: the powers of two from 4 to 4096.
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
    fn a_part_is_as_aligned_as_its_address() {
        let whole = Aligned::file(&FILE);
        for begin in 0..=4096 {
            let part = whole.part(begin, 4096 - begin).expect("it is inside");
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
    fn bytes_anywhere_are_bytes() {
        let anywhere = Aligned::anywhere(&FILE);
        assert_eq!(anywhere.as_slice::<u8>(), Some(&FILE[..]));
        assert!(anywhere.as_slice::<u16>().is_none() && anywhere.as_array::<[f32; 1024]>().is_none());
        assert_eq!(anywhere.part(7, 3).and_then(|part| part.as_array::<[i8; 3]>()), Some(&[7, 8, 9]));
    }

    /// Every place and every length up to some: elements where there are such, with the values that their bytes have.
    fn elements_of<T: Native + PartialEq>(value: impl Fn(&[u8]) -> T) {
        let size = size_of::<T>();
        for (begin, len) in (0..40).flat_map(|begin| (0..40).map(move |len| (begin, len))) {
            let part = Aligned::file(&FILE).part(begin, len).expect("it is inside");
            let is_whole = len % size == 0;
            let lies_right = begin % align_of::<T>() == 0 || len == 0;
            let wanted: Option<Vec<T>> =
                (is_whole && lies_right).then(|| part.bytes.chunks(size).map(&value).collect());
            assert!(part.as_slice::<T>() == wanted.as_deref(), "{len} bytes at {begin}");
            assert!(Aligned::at_address(part.bytes).as_slice::<T>() == wanted.as_deref());
        }
    }

    #[test]
    fn elements_are_their_bytes() {
        elements_of(|bytes| bytes[0]);
        elements_of(|bytes| i8::from_ne_bytes(bytes.try_into().unwrap()));
        elements_of(|bytes| u16::from_ne_bytes(bytes.try_into().unwrap()));
        elements_of(|bytes| i32::from_ne_bytes(bytes.try_into().unwrap()));
        elements_of(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap()));
        elements_of(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap()));
        elements_of(|bytes| {
            let half = |half: &[u8]| f32::from_ne_bytes(half.try_into().unwrap());
            C64 { re: half(&bytes[..4]), im: half(&bytes[4..]) }
        });
    }

    #[test]
    fn arrays_have_as_many_bytes_as_their_tensor_and_lie_right() {
        for begin in 0..16 {
            let part = Aligned::file(&FILE).part(begin, 24).expect("it is inside");
            let wanted: Vec<f32> =
                part.bytes.chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect();
            let array = part.as_array::<[[f32; 2]; 3]>();
            assert_eq!(array.is_some(), begin % 4 == 0);
            assert!(array.is_none_or(|array| array.as_flattened() == wanted));
            assert!(part.as_array::<[f32; 7]>().is_none() && part.as_array::<[f32; 5]>().is_none());
        }
        assert!(Aligned::file(&FILE).part(8, 8).and_then(|part| part.as_array::<C64>()).is_some());
    }

    #[test]
    fn nothing_lies_right_everywhere() {
        let nothing = Aligned::anywhere(&[]);
        assert_eq!(nothing.as_slice::<u64>(), Some(&[][..]));
        assert_eq!(nothing.as_array::<[[f64; 0]; 3]>(), Some(&[[], [], []]));
        assert!(nothing.as_array::<[f64; 1]>().is_none());
        assert_eq!(Aligned::file(&FILE).part(3, 0).and_then(|part| part.as_array::<[f64; 0]>()), Some(&[]));
    }

    /// The test for each alignment: a `static` of it, whose address is looked at.
    macro_rules! lies_at {
        ($($align:literal)*) => {$({
            static ODD: AlignedFile<$align, 3> = AlignedFile::copy(b"odd");
            assert_eq!(address(&ODD) % $align, 0);
            assert_eq!((&ODD[..], ODD.bytes()), (&b"odd"[..], &b"odd"[..]));
            assert_eq!((align_of_val(&ODD), size_of_val(&ODD)), ($align, $align));
            assert_eq!(Aligned::file(&ODD).align, $align);
        })*};
    }

    #[test]
    fn a_file_lies_where_its_type_says() {
        lies_at!(4 8 16 32 64 128 256 512 1024 2048 4096);
    }

    #[test]
    fn values_are_written_as_their_bytes() {
        let mut values = [0_u16; 3];
        bytes_of_mut(&mut values).copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(values, [[1, 2], [3, 4], [5, 6]].map(u16::from_ne_bytes));
        assert!(bytes_of_mut::<f64>(&mut []).is_empty());
    }

    #[test]
    fn values_are_given_with_the_low_byte_first() {
        let values: Vec<u16> = (0..100).map(|index| 1000 + index).collect();
        let wanted: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let of = |parts: &mut Parts<'_>| {
            assert_eq!(parts.len(), 200);
            let mut all: Vec<u8> = Vec::new();
            while let part @ [_, ..] = parts.next() {
                all.extend(part);
            }
            all
        };
        assert_eq!(of(&mut parts(&values)), wanted);
        let swapped: Vec<u16> = values.iter().map(|value| value.swap_bytes()).collect();
        let other_machine = Parts { left: bytes_of(&swapped), unit: 2, block: [0; BLOCK] };
        if cfg!(target_endian = "little") {
            assert_eq!(of(&mut { other_machine }), wanted);
        }
        let mut pairs = [1, 2, 3, 4, 5, 6, 7, 8];
        turn_round(&mut pairs, 4);
        assert_eq!(pairs, [4, 3, 2, 1, 8, 7, 6, 5]);
        turn_round(&mut pairs, 8);
        assert_eq!(pairs, [5, 6, 7, 8, 1, 2, 3, 4]);
    }

    #[test]
    fn an_array_knows_its_shape() {
        assert_eq!(<[[f32; 16]; 32]>::SHAPE.dims(), [32, 16]);
        assert_eq!((<[[f32; 16]; 32]>::DTYPE, <i8 as Array>::SHAPE), (Dtype::F32, Shape::SCALAR));
        assert_eq!(<[[[[[[[[u8; 8]; 7]; 6]; 5]; 4]; 3]; 2]; 1]>::SHAPE.dims(), [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
