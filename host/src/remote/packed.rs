//! Parameters of quantised models on servers, several of which are packed in one integer.

use super::find::text_beside;
use super::is_remote;
use crate::json::Object;
use crate::text::grouped;
use embedded_safetensors::Dtype;
use safetensors_remote::parameters::{Entry, Parameters, Quantization};
use std::io::{self, Write};
use std::path::Path;

/// The longest `config.json` in bytes, as in huggingface.js.
const LONGEST: u64 = 10_000_000;

/// The parameters of a remote model as the Hub counts them, if its `config.json` says that they are packed.
/// Only of a model with integers or other narrow elements that file is read; a model without it is not
/// packed.
pub fn packed(path: &Path, files: &[Vec<Entry<'_>>]) -> Option<Parameters> {
    let mut entries = files.iter().flatten();
    if !is_remote(path) || !entries.any(may_be_packed) {
        return None;
    }
    let config = text_beside(path, "config.json", LONGEST).ok()??;
    let config = Quantization::of(&serde_json::from_slice(&config).ok()?);
    let files: Vec<&[Entry<'_>]> = files.iter().map(Vec::as_slice).collect();
    let counted = Parameters::of(&files, &config);
    (counted != Parameters::of(&files, &Quantization::default())).then_some(counted)
}

fn may_be_packed(entry: &Entry<'_>) -> bool {
    let is_plain = matches!(entry.dtype, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::BF16 | Dtype::BOOL);
    entry.dims.len() > 1 && !is_plain
}

/// Prints them below the plain counts.
///
/// # Errors
/// Those of `out`.
pub fn print(parameters: &Parameters, out: &mut impl Write) -> io::Result<()> {
    let list = parameters.by_dtype().iter().map(|(dtype, count)| format!("{dtype} {}", grouped(*count)));
    let list: Vec<String> = list.collect();
    writeln!(out, "  unpacked parameters: {}: {}", grouped(parameters.total()), list.join(", "))
}

/// The same in JSON.
pub fn json(parameters: &Parameters) -> String {
    let counts = parameters.by_dtype().iter();
    let dtypes = counts.fold(Object::new(), |object, (dtype, count)| object.number(dtype.name(), *count));
    Object::new().number("parameters", parameters.total()).raw("dtypes", &dtypes.end()).end()
}
