//! Elements as numbers, exact, whatever their dtype; and numbers as elements, rounded once.

mod cast;
mod decode;
mod format;
mod mean;
mod print;
mod scale;

pub use cast::{Cast, Report, can_be_target};
pub use decode::Decoder;
pub use mean::Mean;
pub use print::{Style, printed};
pub use scale::{Largest, Quantizer};

use embedded_safetensors::Dtype;

/// What an element is: of two numbers, its parts come one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of any float: each is an `f64`.
    Float(f64),
    /// Of BOOL and all integers but U64.
    Signed(i64),
    /// Of U64.
    Unsigned(u64),
}

/// Whether elements are single floating-point numbers, of any width.
pub fn is_float(dtype: Dtype) -> bool {
    !decode::is_integer(dtype) && dtype != Dtype::C64
}

/// What has the bits of a float that numpy has not; what numpy has, and what has no whole bytes, stays.
pub fn bits_of(dtype: Dtype) -> Dtype {
    use Dtype::{BF16, F8_E4M3, F8_E4M3FNUZ, F8_E5M2, F8_E5M2FNUZ, F8_E8M0};
    match dtype {
        BF16 => Dtype::U16,
        F8_E4M3 | F8_E4M3FNUZ | F8_E5M2 | F8_E5M2FNUZ | F8_E8M0 => Dtype::U8,
        other => other,
    }
}

impl Number {
    /// The nearest `f64`.
    pub fn nearest(self) -> f64 {
        match self {
            Self::Float(float) => float,
            Self::Signed(integer) => integer as f64,
            Self::Unsigned(integer) => integer as f64,
        }
    }
}

impl From<f64> for Number {
    fn from(float: f64) -> Self {
        Self::Float(float)
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Self {
        Self::Signed(integer)
    }
}

impl From<u64> for Number {
    fn from(integer: u64) -> Self {
        Self::Unsigned(integer)
    }
}
