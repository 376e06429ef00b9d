//! `safetensors delta`: writes what a device needs to make one model of another.

use super::sign::short_len;
use super::{Context, Error, Outcome, Run, check_stdin_once};
use crate::error::not_read::NotRead;
use crate::input::model::Model;
use crate::input::source::{BUFFER, each_piece};
use crate::json::object;
use crate::output::model::NewModel;
use crate::output::overwrite::check_not_in_model;
use crate::tensor::delta::pieces;
use crate::tensor::sums::sum_of_model;
use crate::text::number::digits;
use crate::text::{counted, shown_path};
use embedded_safetensors::Dtype;
use embedded_safetensors::write::TensorSpec;
use std::io::{BufWriter, Seek, Write};
use std::path::PathBuf;

/// Write what a device needs to make one model of another
///
/// The delta has the new bytes, and says which bytes of the old model to copy before them. It is a
/// safetensors file with the tensor `delta`. Exit code: 0 if the file is written, 1 if a model is invalid, 2
/// for all other errors, 130 if interrupted.
#[derive(clap::Args)]
pub struct Delta {
    /// Model that the device has; `-` is standard input
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// Model that it makes; `-` is standard input
    #[arg(value_name = "NEW")]
    new: PathBuf,

    #[command(flatten)]
    to: NewModel,
}

impl Run for Delta {
    fn run(self, context: &Context) -> Outcome {
        check_stdin_once(&[self.old.clone(), self.new.clone()])?;
        self.to.check(&[&self.old, &self.new])?;
        let old = Model::open_in_file(context, &self.old)?;
        let new = Model::open_in_file(context, &self.new)?;
        [&old, &new].into_iter().try_for_each(|model| check_not_in_model(model, &self.to.output))?;
        let (_, length) = (short_len(&old)?, short_len(&new)?);
        let bytes = self.write(context, &old, &new)?;
        let (base, output) = (self.old.to_string_lossy(), self.to.output.to_string_lossy());
        self.to.say(&self.new, object! { base, length, output, bytes }, |out| {
            let (output, new) = (shown_path(&self.to.output), shown_path(&self.new));
            let [bytes, length] = [bytes, length.into()].map(|bytes| counted(bytes, "byte"));
            writeln!(out, "{output}: {bytes} instead of the {length} of {new}")
        })
    }
}

impl Delta {
    /// Writes the file and returns its length.
    fn write(&self, context: &Context, old: &Model, new: &Model) -> Result<u64, Error> {
        let not_buffered = |error| Error::not_read(new.path(), NotRead::not_buffered(&error, None));
        let (base, target) = (sum_of_model(context, old)?, sum_of_model(context, new)?);
        let mut bytes = BufWriter::new(tempfile::tempfile().map_err(not_buffered)?);
        let mut put = |piece: &[u8]| bytes.write_all(piece).map_err(not_buffered);
        put(&base)?;
        pieces(context, old.one_part()?, new.one_part()?, &mut put)?;
        old.check_unchanged()?;
        let len = bytes.stream_position().map_err(not_buffered)?;
        let (base, length, target) = (digits(&base), new.file_lens().to_string(), digits(&target));
        let metadata = vec![("delta.base", &*base), ("delta.length", &length), ("delta.target", &target)];
        let (shape, work) = ([len], context.work("writing", len));
        let tensors = [TensorSpec::new("delta", Dtype::U8, &shape)];
        self.to.write(context, &[new], Some(metadata), &tensors, |_, take| {
            each_piece(new.path(), bytes.get_ref(), 0..len, &mut vec![0; BUFFER], |piece| {
                take(piece)?;
                work.advance(piece.len() as u64)
            })
        })
    }
}
