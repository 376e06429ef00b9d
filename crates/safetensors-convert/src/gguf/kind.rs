//! The types of tensors.

use embedded_safetensors::Dtype;
use std::fmt;

/// Declares [`Kind`]: for each type its number, and the elements and the bytes of a block.
macro_rules! kinds {
    ($($name:ident = $number:literal, $elements:literal, $bytes:literal;)+) => {
        /// A type of tensors, by its name in llama.cpp.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, missing_docs)]
        pub enum Kind {
            $($name,)+
        }

        impl Kind {
            /// Every type.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Returns the name, the number, and the elements and the bytes of a block.
            const fn row(self) -> (&'static str, u32, u64, u64) {
                match self {
                    $(Self::$name => (stringify!($name), $number, $elements, $bytes),)+
                }
            }
        }
    };
}

kinds! {
    F32 = 0, 1, 4;
    F16 = 1, 1, 2;
    Q4_0 = 2, 32, 18;
    Q4_1 = 3, 32, 20;
    Q5_0 = 6, 32, 22;
    Q5_1 = 7, 32, 24;
    Q8_0 = 8, 32, 34;
    Q8_1 = 9, 32, 40;
    Q2_K = 10, 256, 84;
    Q3_K = 11, 256, 110;
    Q4_K = 12, 256, 144;
    Q5_K = 13, 256, 176;
    Q6_K = 14, 256, 210;
    Q8_K = 15, 256, 292;
    IQ2_XXS = 16, 256, 66;
    IQ2_XS = 17, 256, 74;
    IQ3_XXS = 18, 256, 98;
    IQ1_S = 19, 256, 50;
    IQ4_NL = 20, 32, 18;
    IQ3_S = 21, 256, 110;
    IQ2_S = 22, 256, 82;
    IQ4_XS = 23, 256, 136;
    I8 = 24, 1, 1;
    I16 = 25, 1, 2;
    I32 = 26, 1, 4;
    I64 = 27, 1, 8;
    F64 = 28, 1, 8;
    IQ1_M = 29, 256, 56;
    BF16 = 30, 1, 2;
    TQ1_0 = 34, 256, 54;
    TQ2_0 = 35, 256, 66;
    MXFP4 = 39, 32, 17;
    NVFP4 = 40, 64, 36;
    Q1_0 = 41, 128, 18;
}

/// Types that files of older programs may have.
const REMOVED: [(u32, &str); 8] = [
    (4, "Q4_2"),
    (5, "Q4_3"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (33, "Q4_0_8_8"),
    (36, "IQ4_NL_4_4"),
    (37, "IQ4_NL_4_8"),
    (38, "IQ4_NL_8_8"),
];

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Kind {
    /// Returns the name, as gguf-py spells it.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the number that files contain.
    pub const fn number(self) -> u32 {
        self.row().1
    }

    /// Returns the number of elements of a block, which is 1 for types that are not quantised.
    pub const fn block_elements(self) -> u64 {
        self.row().2
    }

    /// Returns the number of bytes of a block.
    pub const fn block_bytes(self) -> u64 {
        self.row().3
    }

    /// Returns the type with this number.
    ///
    /// # Errors
    /// There is none; the sentence names a type that has been removed from the format.
    pub(super) fn of_number(number: u32) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|kind| kind.number() == number).copied();
        found.ok_or_else(|| match REMOVED.iter().find(|(removed, _)| *removed == number) {
            Some((_, name)) => format!("type {number}, {name}, has been removed from the format"),
            None => format!("type {number} is unknown"),
        })
    }

    /// Returns the type with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|kind| kind.name() == name).copied()
    }

    /// Returns the type whose elements are those of a dtype.
    pub fn of_dtype(dtype: Dtype) -> Option<Self> {
        Self::of_name(dtype.name()).filter(|kind| kind.dtype().is_some())
    }

    /// Returns the dtype with the same elements, which has the same name; `None` if the type is quantised.
    pub fn dtype(self) -> Option<Dtype> {
        if self.block_elements() == 1 { Dtype::from_name(self.name().as_bytes()) } else { None }
    }

    /// Returns the offsets of the numbers of 2 bytes in a block whose byte order is the file's; `None` if
    /// gguf-py cannot change the byte order of the type.
    pub(super) fn scales(self) -> Option<&'static [usize]> {
        match self {
            Self::Q4_0 | Self::Q8_0 => Some(&[0]),
            Self::Q4_K => Some(&[0, 2]),
            Self::Q6_K => Some(&[208]),
            Self::MXFP4 | Self::NVFP4 => Some(&[]),
            _ => None,
        }
    }

    /// Returns the number of bytes of tensors with these dims, the fastest one first.
    ///
    /// # Errors
    /// It does not fit into 64 bits; or the rows are not whole blocks.
    pub(super) fn byte_len(self, dims: &[u64]) -> Result<u64, String> {
        let (elements, bytes) = (self.block_elements(), self.block_bytes());
        let row = dims.first().copied().unwrap_or(1);
        if !row.is_multiple_of(elements) {
            return Err(format!("its rows have {row} elements, but blocks of {self} have {elements}"));
        }
        // The product of all others must fit if one is 0: readers multiply in different orders.
        let product = dims.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim.max(1)));
        let len = product.and_then(|product| (product / elements).checked_mul(bytes));
        let len = len.map(|len| if dims.contains(&0) { 0 } else { len });
        len.ok_or_else(|| format!("its shape {dims:?} has more bytes than fit into 64 bits"))
    }
}
