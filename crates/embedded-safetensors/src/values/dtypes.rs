//! Use this when all tensors that you read as values have a dtype that is known when the program is compiled:
//! [`Values::of`](crate::reader::Values::of) leaves the code for all others out.
//!
//! ```
//! use embedded_safetensors::values::dtypes::F16;
//! use embedded_safetensors::{Model, ReadAt, ReadError, tensor::Located};
//!
//! /// Reads the values of an F16 tensor.
//! fn bias<S: ReadAt>(
//!     model: &mut Model<S>,
//!     tensor: &impl Located,
//!     values: &mut [f32],
//! ) -> Result<(), ReadError<S::Error>> {
//!     model.reader(tensor)?.values().of(F16)?.read_exact(values)
//! }
//! ```

use super::convert::Loss;
use crate::dtype::{Dtype, DtypeSet};
use crate::error::{Error, ErrorKind};

/// The dtypes that [`Values`](crate::reader::Values) reads: [`Lossless`], [`Rounded`], or one of the types
/// in this module that are named like a dtype. There are no others.
pub trait Dtypes: sealed::Dtypes {}

impl<D: sealed::Dtypes> Dtypes for D {}

/// A single dtype.
pub trait One: Dtypes {
    /// The dtype.
    const DTYPE: Dtype;
}

/// # Errors
/// [`ErrorKind::DtypeMismatch`] unless it is this dtype.
pub(crate) fn check_dtype<O: One>(found: Dtype, at: u64) -> Result<(), Error> {
    let asked = DtypeSet::of(&[O::DTYPE]);
    let kind = ErrorKind::DtypeMismatch { query: None, found, asked };
    if found == O::DTYPE { Ok(()) } else { Err(kind.at(at)) }
}

/// All dtypes that convert without loss.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Lossless;

/// All dtypes that convert, to the nearest value, with ties to even.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Rounded;

pub(crate) mod sealed {
    use super::{Dtype, Loss};

    pub trait Dtypes: Copy {
        /// The dtype, if there is only one.
        const ONE: Option<Dtype> = None;
        const LOSS: Loss;
    }
}

impl sealed::Dtypes for Lossless {
    const LOSS: Loss = Loss::None;
}

impl sealed::Dtypes for Rounded {
    const LOSS: Loss = Loss::Rounded;
}

macro_rules! one {
    ($($dtype:ident),+) => {$(
        #[doc = concat!("Only ", stringify!($dtype), ", without loss.")]
        #[derive(Clone, Copy, Debug)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[allow(non_camel_case_types)]
        pub struct $dtype;

        impl One for $dtype {
            const DTYPE: Dtype = Dtype::$dtype;
        }

        impl sealed::Dtypes for $dtype {
            const ONE: Option<Dtype> = Some(Dtype::$dtype);
            const LOSS: Loss = Loss::None;
        }
    )+};
}

one!(
    BOOL,
    F4,
    F6_E2M3,
    F6_E3M2,
    U8,
    I8,
    F8_E5M2,
    F8_E4M3,
    F8_E8M0,
    F8_E4M3FNUZ,
    F8_E5M2FNUZ,
    I16,
    U16,
    F16,
    BF16,
    I32,
    U32,
    F32,
    C64,
    F64,
    I64,
    U64
);
