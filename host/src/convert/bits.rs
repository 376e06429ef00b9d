//! Integers that hold the bits of dtypes that numpy lacks.

use super::input::{Input, Tensor};
use super::names::dtype_named;
use crate::args::glob::matches;
use crate::error::Error;
use crate::text::{did_you_mean, quoted};
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::bits_of;

/// A dtype and the tensors that hold its bits.
#[derive(Clone, Debug)]
pub struct FromBits {
    dtype: Dtype,
    /// The tensors that match this glob. Without one: the arrays that numpy calls raw, or all integers of
    /// that width if no array is raw.
    glob: Option<String>,
}

impl FromBits {
    /// Reads `DTYPE` or `DTYPE=GLOB`.
    pub fn parse(text: &str) -> Result<Self, String> {
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

    /// Whether it selects this tensor.
    fn selects(&self, tensor: &Tensor, any_is_raw: bool) -> bool {
        let is_its = tensor.dtype == self.dtype || tensor.dtype == bits_of(self.dtype);
        let is_named = match &self.glob {
            Some(glob) => matches(glob, &tensor.name),
            None => tensor.is_raw || !any_is_raw,
        };
        is_its && is_named
    }

    fn takes(&self, tensor: &Tensor, any_is_raw: bool) -> bool {
        self.selects(tensor, any_is_raw) && tensor.blocks.is_none()
    }
}

/// Reinterprets integer tensors as these dtypes.
///
/// # Errors
/// A dtype has no tensor, or a tensor has two dtypes; raw bits remain without a dtype.
pub fn read_bits(input: &mut Input, options: &[FromBits]) -> Result<(), Error> {
    let any_is_raw = input.tensors.iter().any(|tensor| tensor.is_raw);
    for wish in options {
        let (dtype, tensors) = (wish.dtype, || input.tensors.iter());
        if tensors().any(|tensor| wish.takes(tensor, any_is_raw)) {
            continue;
        }
        if let Some(glob) = wish.glob.as_deref().filter(|glob| !input.names().any(|name| matches(glob, name)))
        {
            let hint = did_you_mean(glob, input.names());
            return Err(input.about(format!("no tensor matches {}{hint}", quoted(glob))));
        }
        if let Some(blocks) = tensors().find(|tensor| wish.selects(tensor, any_is_raw)) {
            return Err(input.about_tensor(blocks, &format!("blocks of GGUF are not bits of {dtype}")));
        }
        let integer = bits_of(dtype);
        let sentence = format!("no selected tensor is {integer}, the integer with the bits of {dtype}");
        return Err(input.about(sentence));
    }
    for index in 0..input.tensors.len() {
        let tensor = &input.tensors[index];
        let found = dtype_of(tensor, options, any_is_raw);
        if let Some(dtype) = found.map_err(|error| input.about_tensor(tensor, &error))? {
            let tensor = &mut input.tensors[index];
            (tensor.dtype, tensor.is_raw, tensor.from_bits) = (dtype, false, true);
        }
    }
    Ok(())
}

fn dtype_of(tensor: &Tensor, options: &[FromBits], any_is_raw: bool) -> Result<Option<Dtype>, String> {
    let mut dtypes = options.iter().filter(|wish| wish.takes(tensor, any_is_raw)).map(|wish| wish.dtype);
    let first = dtypes.next();
    let other = dtypes.find(|dtype| Some(*dtype) != first);
    match (first, other) {
        (Some(one), Some(other)) => {
            Err(format!("{one} and {other} both match its bits; choose with --from-bits '{one}=NAME'"))
        }
        (None, _) if tensor.is_raw => Err(format!(
            "{} raw bits per element, the form in which numpy stores unknown dtypes; set the dtype with \
             --from-bits, for example --from-bits {}",
            tensor.dtype.bits(),
            if tensor.dtype == Dtype::U16 { "BF16" } else { "F8_E4M3" }
        )),
        (dtype, _) => Ok(dtype),
    }
}
