//! `--manifest`: what came from where, with sums.

use super::done::Tie;
use super::plan::{Plan, Planned};
use super::source::Sum;
use crate::context::Context;
use crate::error::Error;
use crate::json::print_lines;
use crate::output::file::Product;
use crate::text::number::digits;
use serde::Serialize;
use std::path::Path;

/// A manifest that appears only when complete.
pub struct Manifest {
    product: Product,
    outputs: Outputs,
}

#[derive(Default, Serialize)]
struct Outputs {
    outputs: Vec<Made>,
}

/// A finished output and what it was made of.
#[derive(Serialize)]
struct Made {
    #[serde(flatten)]
    output: Sum,
    inputs: Vec<Sum>,
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

impl Manifest {
    /// # Errors
    /// As [`Product::create`].
    pub fn create(context: &Context, path: &Path, force: bool) -> Result<Self, Error> {
        Ok(Self { product: Product::create(context, path, force)?, outputs: Outputs::default() })
    }

    /// Adds an output, whose file is read again. `files` are the sums of its inputs, and `tensors` those of its
    /// tensors.
    ///
    /// # Errors
    /// It cannot be read; interruption by the user.
    pub fn add(
        &mut self,
        context: &Context,
        plan: &Plan<'_>,
        files: Vec<Vec<Sum>>,
        tensors: &[[u8; 32]],
    ) -> Result<(), Error> {
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
        let output = Sum::at(context, plan.output, &context.work("summing", 0))?;
        let (tensors, tied) = (plan.tensors.iter().zip(tensors).map(row).collect(), plan.ties().collect());
        let inputs = files.into_iter().flatten().collect();
        self.outputs.outputs.push(Made { output, inputs, tied, tensors });
        Ok(())
    }

    /// Puts the manifest in place.
    ///
    /// # Errors
    /// As [`Product::finish`].
    pub fn finish(mut self) -> Result<(), Error> {
        let written = print_lines(&mut self.product, &self.outputs, &["outputs", "tensors"]);
        written.map_err(|error| self.product.cannot(error))?;
        self.product.finish()
    }
}
