//! Conversions to integers, and types that are only read from their own dtype.

use super::element::{ConvertFn, Way, each, sealed};
use crate::dtype::Dtype;
use crate::values::native::Native;

macro_rules! integer {
    ($type:ident from $($dtype:ident $narrow:ident),*) => {
        impl sealed::Element for $type {
            const ZERO: Self = 0;

            fn lossless(from: Dtype) -> Option<Way<Self>> {
                match from {
                    <Self as Native>::DTYPE => Some(Way::same(|narrow, _, values| {
                        each(narrow, values, |value, bytes| *value = Self::from_le_bytes(bytes));
                    })),
                    Dtype::BOOL => Some(Way::Convert(|narrow, _, values| {
                        each(narrow, values, |value, [byte]| *value = Self::from(byte != 0));
                    })),
                    $(Dtype::$dtype => Some(Way::Convert(|narrow, _, values| {
                        each(narrow, values, |value, bytes| {
                            *value = Self::from($narrow::from_le_bytes(bytes));
                        });
                    })),)*
                    _ => None,
                }
            }

            fn rounded(_: Dtype) -> Option<ConvertFn<Self>> {
                None
            }
        }
    };
}

integer!(u8 from);
integer!(i8 from);
integer!(u16 from U8 u8);
integer!(i16 from U8 u8, I8 i8);
integer!(u32 from U8 u8, U16 u16);
integer!(i32 from U8 u8, I8 i8, U16 u16, I16 i16);
integer!(u64 from U8 u8, U16 u16, U32 u32);
integer!(i64 from U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32);

#[cfg(feature = "half")]
macro_rules! as_in_file {
    ($($type:ident),*) => {$(
        impl sealed::Element for half::$type {
            const ZERO: Self = Self::ZERO;

            fn lossless(from: Dtype) -> Option<Way<Self>> {
                let same = Way::same(|narrow, _, values| {
                    each(narrow, values, |value, bytes| *value = Self::from_le_bytes(bytes));
                });
                (from == <Self as Native>::DTYPE).then_some(same)
            }

            fn rounded(_: Dtype) -> Option<ConvertFn<Self>> {
                None
            }
        }
    )*};
}

#[cfg(feature = "half")]
as_in_file!(f16, bf16);
