//! `safetensors decode`: prints the contents of a header, for comparison with other readers.

use super::{Context, Error, Exit, Outcome, Run};
use crate::input::model::{Model, Tensor, bytes_of, file_of, is_sharded};
use crate::json::{Map, object};
use crate::output::stdout::show;
use crate::tensor::sums::sums_of;
use crate::text::number::digits;
use std::path::PathBuf;

/// Print a valid file's tensors and metadata as one JSON object
///
/// The output is what the runner of the conformance vectors expects. Exit code: 0 if the file is valid, 1 if
/// it is invalid (the reason goes to standard error, nothing to standard output), 2 if it cannot be read.
#[derive(clap::Args)]
pub struct Decode {
    /// File to decode; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

impl Run for Decode {
    fn run(self, context: &Context) -> Outcome {
        let file = file_of(&self.file)?;
        if is_sharded(context, &file)? {
            return Err(Error::about(&self.file, "has several files; give one of them"));
        }
        let model = Model::open(context, &file)?;
        let tensors: Vec<Tensor<'_>> = model.in_header_order().collect();
        let work = context.work("hashing", bytes_of(&tensors));
        let sums = sums_of(&tensors, &work)?;
        model.check_unchanged()?;
        let tensors = tensors.iter().zip(&sums).map(|(tensor, sum)| {
            let (dtype, shape, data_offsets) =
                (tensor.dtype().name(), tensor.dims(), [tensor.begin(), tensor.end()]);
            (tensor.name(), object! { dtype, shape, data_offsets, sha256: digits(sum) })
        });
        show(true, &object! { tensors: Map(tensors), metadata: model.metadata() }, |_| Ok(()))?;
        Ok(Exit::Good)
    }
}
