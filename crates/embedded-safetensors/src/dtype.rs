//! The element types of the format.

use crate::util::bytes::{WORDS, low_u8, low_u32};
use crate::util::text::equal;

/// Declares [`Dtype`]: a line for each element type. Its name is the header's spelling.
macro_rules! dtypes {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// An element type. The order is that of the Rust crate `safetensors`, whose writer sorts tensors by
        /// it.
        ///
        /// *Memory*: one byte.
        ///
        /// ```
        /// use embedded_safetensors::Dtype;
        ///
        /// assert_eq!((Dtype::BF16.name(), Dtype::BF16.bits()), ("BF16", 16));
        /// assert_eq!(Dtype::from_name(b"F8_E4M3"), Some(Dtype::F8_E4M3));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[repr(u8)]
        #[non_exhaustive]
        #[allow(non_camel_case_types)]
        pub enum Dtype {
            $($(#[$doc])+ $name,)+
        }

        impl Dtype {
            /// Every dtype, in this order.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Returns the header's spelling.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }
        }
    };
}

dtypes! {
    /// Boolean, one byte each. Any byte is valid; as a number it is 0 for the byte 0, and 1 for any other.
    BOOL,
    /// MXFP4: 4-bit float, two to a byte.
    F4,
    /// MXFP6: 6-bit float with 2 exponent bits, four to three bytes.
    F6_E2M3,
    /// MXFP6: 6-bit float with 3 exponent bits, four to three bytes.
    F6_E3M2,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 8-bit integer.
    I8,
    /// 8-bit float, 5 exponent bits, with infinities.
    F8_E5M2,
    /// 8-bit float, 4 exponent bits, no infinities.
    F8_E4M3,
    /// 8-bit power of two: the scale of microscaling blocks.
    F8_E8M0,
    /// 8-bit float, 4 exponent bits, no infinities, no negative zero.
    F8_E4M3FNUZ,
    /// 8-bit float, 5 exponent bits, no infinities, no negative zero.
    F8_E5M2FNUZ,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// IEEE half precision.
    F16,
    /// The upper half of an `F32`.
    BF16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// IEEE single precision.
    F32,
    /// Complex number of two `F32`.
    C64,
    /// IEEE double precision.
    F64,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer.
    U64,
}

impl Dtype {
    /// Returns the width of one element in bits: 4, 6, 8, 16, 32 or 64.
    // An arm for each width, not for each dtype: opening a header takes 4 % fewer instructions.
    pub const fn bits(self) -> u8 {
        match self {
            Self::F4 => 4,
            Self::F6_E2M3 | Self::F6_E3M2 => 6,
            Self::BOOL | Self::U8 | Self::I8 => 8,
            Self::F8_E5M2 | Self::F8_E4M3 | Self::F8_E8M0 | Self::F8_E4M3FNUZ | Self::F8_E5M2FNUZ => 8,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::C64 | Self::F64 | Self::I64 | Self::U64 => 64,
        }
    }

    /// Returns the dtype that the header spells `name`, exactly and case-sensitively.
    pub const fn from_name(name: &[u8]) -> Option<Self> {
        let mut left: &[Self] = Self::ALL;
        while let Some((&dtype, rest)) = left.split_first() {
            if equal(dtype.name().as_bytes(), name) {
                return Some(dtype);
            }
            left = rest;
        }
        None
    }

    /// Returns the dtype whose name, followed by a quote, is at the start of `text`, and how many bytes that
    /// is. `text` must have eight bytes.
    ///
    /// Names with their quotes are distinguished by a perfect hash of their first eight bytes: a branch for
    /// each name would be mispredicted where dtypes differ from tensor to tensor.
    pub(crate) const fn quoted(text: &[u8]) -> Option<(Self, u8)> {
        let Some((word, after_word)) = text.split_first_chunk::<8>() else { return None };
        let (mask, len) = match word {
            _ if WORDS => until_quote(u64::from_le_bytes(*word)),
            [_, _, b'"', ..] => (0xFF_FFFF, 3),
            [_, _, _, b'"', ..] => (0xFFFF_FFFF, 4),
            [_, _, _, _, b'"', ..] => (0xFF_FFFF_FFFF, 5),
            _ => (u64::MAX, 8),
        };
        let name = u64::from_le_bytes(*word) & mask;
        // In bounds: a slot is below SLOTS, and each dtype has a name. Calls of `get` would slow down const
        // evaluation.
        let dtype = DTYPES[slot(name, FACTOR)];
        if NAMES[dtype as usize] != name {
            return None;
        }
        match (dtype, after_word.first_chunk()) {
            (Self::F8_E4M3FNUZ | Self::F8_E5M2FNUZ, Some(b"NUZ\"")) => Some((dtype, 12)),
            (Self::F8_E4M3FNUZ | Self::F8_E5M2FNUZ, _) => None,
            _ => Some((dtype, len)),
        }
    }
}

/// A set of dtypes: those that a program accepts for a tensor.
///
/// *Memory*: 4 bytes, `Copy`.
///
/// ```
/// use embedded_safetensors::{Dtype, tensor::DtypeSet};
///
/// let halves = DtypeSet::of(&[Dtype::F16, Dtype::BF16]);
/// assert!(halves.contains(Dtype::BF16) && !halves.contains(Dtype::F32));
/// assert_eq!(halves.to_string(), "F16 or BF16");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DtypeSet(u32);

impl DtypeSet {
    /// The set of all dtypes.
    pub const ANY: Self = Self::of(Dtype::ALL);

    /// Creates a set of these dtypes.
    pub const fn of(dtypes: &[Dtype]) -> Self {
        let (mut set, mut left) = (0, dtypes);
        while let [dtype, rest @ ..] = left {
            set |= 1 << *dtype as u8;
            left = rest;
        }
        Self(set)
    }

    /// Returns whether the set has this dtype.
    pub const fn contains(self, dtype: Dtype) -> bool {
        (self.0 >> dtype as u8) & 1 != 0
    }

    /// Removes the first dtype of the set and returns it, with what follows it in a list: `", "`, `" or "`
    /// or nothing.
    pub(crate) const fn next(&mut self) -> Option<(Dtype, &'static str)> {
        let mut left = Dtype::ALL;
        while let [dtype, rest @ ..] = left {
            if self.contains(*dtype) {
                self.0 &= !(1 << *dtype as u8);
                let separator = match self.0.count_ones() {
                    0 => "",
                    1 => " or ",
                    _ => ", ",
                };
                return Some((*dtype, separator));
            }
            left = rest;
        }
        None
    }
}

const _: () = assert!(Dtype::ALL.len() < 32, "a set has a bit for each dtype");

impl core::fmt::Display for DtypeSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if *self == Self::ANY {
            return f.write_str("any dtype");
        }
        if self.0 == 0 {
            return f.write_str("no dtype");
        }
        let mut left = *self;
        while let Some((dtype, separator)) = left.next() {
            write!(f, "{dtype}{separator}")?;
        }
        Ok(())
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for DtypeSet {
    fn format(&self, f: defmt::Formatter<'_>) {
        if *self == Self::ANY {
            return defmt::write!(f, "any dtype");
        }
        if self.0 == 0 {
            return defmt::write!(f, "no dtype");
        }
        let mut left = *self;
        while let Some((dtype, separator)) = left.next() {
            match separator {
                "" => defmt::write!(f, "{}", dtype),
                " or " => defmt::write!(f, "{} or ", dtype),
                _ => defmt::write!(f, "{}, ", dtype),
            }
        }
    }
}

/// Returns the mask of a word's bytes up to its first quote, and how many bytes that is. Branchless.
const fn until_quote(word: u64) -> (u64, u8) {
    const ONES: u64 = u64::MAX / 255;
    let others = word ^ (ONES * b'"' as u64);
    // The lowest bit is right: borrows go upwards. Without a quote the entire word counts.
    let found = (others.wrapping_sub(ONES) & !others & (ONES * 0x80)) | (1 << 63);
    let len = (found.trailing_zeros() >> 3) + 1;
    (u64::MAX >> (64 - 8 * len), low_u8(len as usize))
}

/// So few slots that only one factor in some 15,000 is perfect. With more dtypes, use more.
const SLOTS: usize = 32;

/// Returns the index of a name's dtype in [`DTYPES`].
const fn slot(name: u64, factor: u32) -> usize {
    (low_u32(name).wrapping_add(low_u32(name >> 32)).wrapping_mul(factor) >> (32 - SLOTS.trailing_zeros()))
        as usize
}

/// A factor with which no two names have the same slot.
const FACTOR: u32 = 0xAE21_24E5;

const _: () = {
    let (mut taken, mut left) = (0u64, Dtype::ALL);
    while let [dtype, rest @ ..] = left {
        let bit = 1 << slot(packed(*dtype), FACTOR);
        assert!(taken & bit == 0, "try FACTOR * 0x9E37_79B1 + 2, and so on");
        taken |= bit;
        left = rest;
    }
};

/// Returns the first eight bytes of a name followed by a quote, the first of them in the lowest byte.
const fn packed(dtype: Dtype) -> u64 {
    let (mut word, mut left) = (b'"' as u64, dtype.name().as_bytes());
    while let [rest @ .., letter] = left {
        word = (word << 8) | *letter as u64;
        left = rest;
    }
    word
}

/// The names, as [`packed`].
static NAMES: [u64; Dtype::ALL.len()] = {
    let (mut names, mut left) = ([0; Dtype::ALL.len()], Dtype::ALL);
    while let [dtype, rest @ ..] = left {
        names[*dtype as usize] = packed(*dtype);
        left = rest;
    }
    names
};

/// The dtypes, each in the slot of its name; any dtype in the other slots.
static DTYPES: [Dtype; SLOTS] = {
    let (mut dtypes, mut left) = ([Dtype::BOOL; SLOTS], Dtype::ALL);
    while let [dtype, rest @ ..] = left {
        dtypes[slot(packed(*dtype), FACTOR)] = *dtype;
        left = rest;
    }
    dtypes
};

impl core::fmt::Display for Dtype {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

// `tensor::span`, `reader::place` and `reader::filling` count elements with shifts, or those of 6 bits, four
// in 3 bytes.
const _: () = {
    let mut left = Dtype::ALL;
    while let [dtype, rest @ ..] = left {
        assert!(dtype.bits().is_power_of_two() || dtype.bits() == 6, "readers do not support this width");
        left = rest;
    }
};
