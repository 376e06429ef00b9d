//! Integers that hold the bits of dtypes that numpy lacks.

use super::input::{Array, Input};
use super::names::dtype_named;
use crate::args::glob::matches;
use crate::error::Error;
use crate::text::{did_you_mean, quoted};
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::bits_of;
use std::str::FromStr;

/// A dtype and the tensors that hold its bits.
#[derive(Clone, Debug)]
pub struct FromBits {
    pub dtype: Dtype,
    /// The tensors that match this glob. Without one: the arrays that numpy calls raw, or all integers of
    /// that width if no array is raw.
    glob: Option<String>,
}

impl FromStr for FromBits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (dtype, glob) = match text.split_once('=') {
            Some((dtype, glob)) => (dtype, Some(glob.to_owned())),
            None => (text, None),
        };
        let dtype = dtype_named(dtype, |dtype| bits_of(dtype) != dtype)?;
        match bits_of(dtype) == dtype {
            true => Err(format!("{dtype} is never written as bits; use BF16 or an F8 dtype")),
            false => Ok(Self { dtype, glob }),
        }
    }
}

impl FromBits {
    /// Whether it selects this tensor.
    fn selects(&self, array: &Array<'_>, any_is_raw: bool) -> bool {
        let is_its = array.dtype == self.dtype || array.dtype == bits_of(self.dtype);
        let is_named = match &self.glob {
            Some(glob) => matches(glob, array.name),
            None => array.is_raw || !any_is_raw,
        };
        is_its && is_named
    }

    fn takes(&self, array: &Array<'_>, any_is_raw: bool) -> bool {
        self.selects(array, any_is_raw) && array.blocks.is_none()
    }
}

/// Reinterprets integer tensors as these dtypes.
///
/// # Errors
/// A dtype has no tensor, or a tensor has two dtypes; raw bits remain without a dtype.
pub fn read_bits(input: &mut Input, options: &[FromBits]) -> Result<(), Error> {
    let any_is_raw = input.arrays().any(|array| array.is_raw);
    if options.is_empty() && !any_is_raw {
        return Ok(());
    }
    let mut globs = options.iter().filter_map(|wish| wish.glob.as_deref());
    if let Some(glob) = globs.find(|glob| !input.names().any(|name| matches(glob, name))) {
        let hint = did_you_mean(glob, input.names());
        return Err(input.about(format!("no tensor matches {}{hint}", quoted(glob))));
    }
    if let Some(wish) =
        options.iter().find(|wish| !input.arrays().any(|array| wish.takes(&array, any_is_raw)))
    {
        let dtype = wish.dtype;
        if let Some(blocks) = input.arrays().position(|array| wish.selects(&array, any_is_raw)) {
            return Err(input.about_tensor(blocks, &format!("blocks of GGUF are not bits of {dtype}")));
        }
        let integer = bits_of(dtype);
        let sentence = format!("no selected tensor is {integer}, the integer with the bits of {dtype}");
        return Err(input.about(sentence));
    }
    let of = |(index, array): (usize, Array<'_>)| {
        dtype_of(&array, options, any_is_raw).map_err(|error| input.about_tensor(index, &error))
    };
    let found = input.arrays().enumerate().map(of).collect::<Result<Vec<_>, _>>()?;
    input.read_as(found);
    Ok(())
}

fn dtype_of(array: &Array<'_>, options: &[FromBits], any_is_raw: bool) -> Result<Option<Dtype>, String> {
    let mut dtypes = options.iter().filter(|wish| wish.takes(array, any_is_raw)).map(|wish| wish.dtype);
    let first = dtypes.next();
    let other = dtypes.find(|dtype| Some(*dtype) != first);
    match (first, other) {
        (Some(one), Some(other)) => {
            Err(format!("{one} and {other} both match its bits; choose with --from-bits '{one}=NAME'"))
        }
        (None, _) if array.is_raw => Err(format!(
            "{} raw bits per element, the form in which numpy stores unknown dtypes; set the dtype with \
             --from-bits, for example --from-bits {}",
            array.dtype.bits(),
            if array.dtype == Dtype::U16 { "BF16" } else { "F8_E4M3" }
        )),
        (dtype, _) => Ok(dtype),
    }
}
