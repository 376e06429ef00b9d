//! Elements of any dtype as exact numbers; and numbers as elements, rounded in one step.

mod block;
mod cast;
mod chunk;
mod decode;
mod format;
mod mean;
mod print;
mod scale;
#[allow(unsafe_code)]
pub(crate) mod wide;

pub use cast::{Report, can_be_target};
pub use chunk::{Caster, Scales};
pub use decode::Decoder;
pub use mean::Mean;
pub use print::{Style, printed};
pub use scale::{Largest, Quantizer};

use cast::Cast;
use embedded_safetensors::Dtype;

/// The value of an element. Complex elements are two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A value of any float dtype: each is an `f64`.
    Float(f64),
    /// A value of BOOL, or of an integer dtype other than U64.
    Signed(i64),
    /// A value of U64.
    Unsigned(u64),
}

/// Whether elements are single floating-point numbers, of any width.
pub fn is_float(dtype: Dtype) -> bool {
    !decode::is_integer(dtype) && dtype != Dtype::C64
}

/// Returns the unsigned integer with the width of a float that numpy lacks. Dtypes that numpy has, and
/// those narrower than a byte, are returned unchanged.
pub fn bits_of(dtype: Dtype) -> Dtype {
    use Dtype::{BF16, F8_E4M3, F8_E4M3FNUZ, F8_E5M2, F8_E5M2FNUZ, F8_E8M0};
    match dtype {
        BF16 => Dtype::U16,
        F8_E4M3 | F8_E4M3FNUZ | F8_E5M2 | F8_E5M2FNUZ | F8_E8M0 => Dtype::U8,
        other => other,
    }
}

impl Number {
    /// Returns the nearest `f64`.
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
