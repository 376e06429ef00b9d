//! `safetensors decode`: prints the contents of a header, for comparison with other readers.

use crate::commands::Run;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::model::{Model, Tensor, bytes_of, file_of, is_sharded};
use crate::json::{self, Map};
use crate::tensor::sums::sums_of;
use crate::text::number::digits;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
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

#[derive(Serialize)]
struct Decoded<'m, T> {
    tensors: T,
    metadata: Option<&'m BTreeMap<String, String>>,
}

#[derive(Serialize)]
struct Entry<'m> {
    dtype: &'static str,
    shape: &'m [u64],
    data_offsets: [u64; 2],
    sha256: String,
}

impl<'m> Entry<'m> {
    fn of(tensor: &'m Tensor<'_>, sum: &[u8]) -> Self {
        let (dtype, data_offsets) = (tensor.dtype().name(), [tensor.begin(), tensor.end()]);
        Self { dtype, shape: tensor.dims(), data_offsets, sha256: digits(sum) }
    }
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
        let tensors = tensors.iter().zip(&sums);
        let tensors = Map(tensors.map(|(tensor, sum)| (tensor.name(), Entry::of(tensor, sum))));
        let mut out = BufWriter::new(io::stdout().lock());
        json::print(&mut out, &Decoded { tensors, metadata: model.metadata() })?;
        out.flush()?;
        Ok(Exit::Good)
    }
}
