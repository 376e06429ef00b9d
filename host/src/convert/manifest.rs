//! `--manifest`: what came from where, with sums.

use super::done::Tie;
use super::plan::{Plan, Planned};
use crate::context::Context;
use crate::error::Error;
use crate::json::{object, print_lines};
use crate::output::file::Product;
use crate::tensor::sums::{FileSum, sum_at};
use crate::text::number::digits;
use serde::Serialize;
use std::path::PathBuf;

/// A finished output and what it was made of.
#[derive(Serialize)]
pub struct Made {
    #[serde(flatten)]
    output: Option<FileSum>,
    #[serde(skip)]
    path: PathBuf,
    inputs: Vec<FileSum>,
    tied: Vec<Tie>,
    tensors: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    dtype: &'static str,
    shape: Vec<u64>,
    sha256: String,
    input: usize,
    was: String,
    from: &'static str,
}

impl Made {
    /// `files` are the sums of the inputs, and `tensors` those of the tensors of the output.
    pub fn new(plan: &Plan<'_>, files: Vec<Vec<FileSum>>, tensors: &[[u8; 32]]) -> Self {
        let row = |(planned, sum): (&Planned<'_>, &[u8; 32])| {
            let (tensor, file) = (planned.tensor, plan.input.file_of(planned.tensor));
            let before: usize = files.iter().take(tensor.file as usize).map(Vec::len).sum();
            Row {
                name: planned.name.to_string(),
                dtype: planned.dtype.name(),
                shape: planned.dims.to_vec(),
                sha256: digits(sum),
                input: before + file.number_of(tensor),
                was: file.own_name(tensor).to_owned(),
                from: file.own_type(tensor),
            }
        };
        let (tensors, tied) = (plan.tensors.iter().zip(tensors).map(row).collect(), plan.ties().collect());
        let (inputs, path) = (files.into_iter().flatten().collect(), plan.output.to_owned());
        Self { output: None, path, inputs, tied, tensors }
    }
}

/// Reads all outputs, and puts their manifest in place.
///
/// # Errors
/// An output cannot be read; those of the manifest; interruption by the user.
pub fn write_manifest(context: &Context, mut manifest: Product, mut outputs: Vec<Made>) -> Result<(), Error> {
    for made in &mut outputs {
        made.output = Some(sum_at(context, &made.path, &context.work("summing", 0))?);
    }
    let written = print_lines(&mut manifest, &object! { outputs }, &["outputs", "tensors"]);
    written.map_err(|error| manifest.cannot(error))?;
    manifest.finish()
}
