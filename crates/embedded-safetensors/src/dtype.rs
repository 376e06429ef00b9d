//! The element types of the format.

/// Declares [`Dtype`]: a line for each element type. Its name is the header's spelling.
macro_rules! dtypes {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// An element type, in the order in which the reference's writer ranks them (lowest first).
        ///
        /// *Memory*: one byte.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[repr(u8)]
        #[non_exhaustive]
        #[allow(non_camel_case_types)]
        pub enum Dtype {
            $($(#[$doc])+ $name,)+
        }

        impl Dtype {
            /// Every dtype, in rank order.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The header's spelling.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }
        }
    };
}

dtypes! {
    /// Boolean, one byte each; readers never inspect the value.
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
    /// Width of one element in bits: 4, 6, 8, 16, 32 or 64.
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

    /// The dtype that the header spells `name`, exactly and case-sensitively.
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

    /// The dtype whose name stands at the start of `text` with a quote behind it, and what follows that.
    pub(crate) const fn quoted(text: &[u8]) -> Option<(Self, &[u8])> {
        match Self::short(text) {
            None => Self::long(text),
            short => short,
        }
    }

    /// One of two to four letters.
    #[inline(always)]
    const fn short(text: &[u8]) -> Option<(Self, &[u8])> {
        let (word, rest) = match text {
            [a, b, b'"', rest @ ..] => ([*a, *b, b'"', 0], rest),
            [a, b, c, b'"', rest @ ..] => ([*a, *b, *c, b'"'], rest),
            [a, b, c, d, b'"', rest @ ..] => ([*a, *b, *c, *d], rest),
            _ => return None,
        };
        let (mut words, mut dtypes): (&[u32], &[Self]) = (&SHORT_NAMES, &SHORT);
        let word = u32::from_le_bytes(word);
        while let ([due, words_left @ ..], [dtype, dtypes_left @ ..]) = (words, dtypes) {
            if *due == word {
                return Some((*dtype, rest));
            }
            (words, dtypes) = (words_left, dtypes_left);
        }
        None
    }

    #[inline(never)]
    const fn long(text: &[u8]) -> Option<(Self, &[u8])> {
        let (mut dtypes, mut names, mut left): (&[Self], _, _) = (&LONG, LONG_NAMES, text);
        while let ([letter, rest @ ..], [dtype, others @ ..]) = (names, dtypes) {
            names = rest;
            left = match left {
                [byte, rest @ ..] if *byte == *letter && *byte == b'"' => return Some((*dtype, rest)),
                [byte, rest @ ..] if *byte == *letter => rest,
                // The next name begins behind the quote.
                _ if *letter == b'"' => {
                    dtypes = others;
                    text
                }
                // No letter is the next of nothing.
                _ => &[],
            };
        }
        None
    }
}

/// Names of two to four letters, the usual ones first; the first letter in the lowest byte, and a quote behind the last where
/// there is room.
const SHORT_NAMES: [u32; SHORT.len()] = {
    let mut words = [0; SHORT.len()];
    let (mut left, mut dtypes): (&mut [u32], &[Dtype]) = (&mut words, &SHORT);
    while let ([word, words_left @ ..], [dtype, dtypes_left @ ..]) = (left, dtypes) {
        *word = match dtype.name().as_bytes() {
            [a, b, c, d] => u32::from_le_bytes([*a, *b, *c, *d]),
            [a, b, c] => u32::from_le_bytes([*a, *b, *c, b'"']),
            [a, b] => u32::from_le_bytes([*a, *b, b'"', 0]),
            _ => 0,
        };
        (left, dtypes) = (words_left, dtypes_left);
    }
    words
};

/// Whose names they are.
const SHORT: [Dtype; 15] = {
    use Dtype::*;
    [F32, F16, BF16, I8, U8, I64, I32, I16, F64, BOOL, U16, U32, U64, F4, C64]
};

/// The other names in one text, each with a quote after it: a table of texts takes more flash than they do.
const LONG_NAMES: &[u8] = b"F8_E4M3\"F8_E5M2\"F8_E8M0\"F6_E2M3\"F6_E3M2\"F8_E4M3FNUZ\"F8_E5M2FNUZ\"";

/// Whose names they are.
const LONG: [Dtype; 7] = {
    use Dtype::*;
    [F8_E4M3, F8_E5M2, F8_E8M0, F6_E2M3, F6_E3M2, F8_E4M3FNUZ, F8_E5M2FNUZ]
};

const _: () = assert!(SHORT.len() + LONG.len() == Dtype::ALL.len(), "each dtype is in SHORT or in LONG");

/// `==` on slices is not const.
const fn equal(mut a: &[u8], mut b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    while let (Some((x, a_rest)), Some((y, b_rest))) = (a.split_first(), b.split_first()) {
        if *x != *y {
            return false;
        }
        (a, b) = (a_rest, b_rest);
    }
    true
}

impl core::fmt::Display for Dtype {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}
