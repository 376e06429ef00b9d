//! `safetensors set`: overwrites a tensor, or a slice of one, in place.

use super::{Context, Error, Exit, Outcome, Run};
use crate::args::slice::{SliceOption, ranges};
use crate::input::model::{Model, file_of};
use crate::input::remote::check_output;
use crate::json::{about, object};
use crate::output::model::{restore, save};
use crate::output::stdout::show;
use crate::tensor::slice::about as about_tensor;
use crate::tensor::sums::C2PA;
use crate::tensor::values::Values;
use crate::text::{quoted, shown_path};
use embedded_safetensors::integrity::KEY;
use safetensors_files::ModelEditor;
use std::path::PathBuf;

/// Overwrite a tensor, or a slice of one, in place
///
/// The new values have the dtype and the shape of the old ones. An embedded sum is verified, and computed
/// again; an interrupted edit is repaired first. Exit code: 0 if the values are written, 1 if the model, its
/// sum or VALUES is invalid, 2 for all other errors, 130 if interrupted; then the model is unchanged.
#[derive(clap::Args)]
pub struct Set {
    /// Model: a file, or a directory with one
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Tensor name
    #[arg(value_name = "TENSOR")]
    tensor: String,

    /// File with the new values: a .npy array, or another model
    #[arg(value_name = "VALUES")]
    values: PathBuf,

    /// Tensor of VALUES, if that is a model [default: the same name]
    #[arg(long, value_name = "NAME")]
    from: Option<String>,

    #[command(flatten)]
    part: SliceOption,

    /// Print a summary as one JSON object
    #[arg(long)]
    json: bool,
}

impl Run for Set {
    fn run(self, context: &Context) -> Outcome {
        let file = file_of(&self.model)?;
        if file.as_os_str() == "-" {
            return Err(Error::usage("set cannot change standard input; give a file"));
        }
        check_output(&file)?;
        restore(&file)?;
        let model = Model::open(context, &file)?;
        let (part, tensor) = (model.one_part()?, model.tensor(&self.tensor)?);
        let (path, dtype) = (part.path(), tensor.dtype());
        let ranges =
            (!self.part.slice.trim().is_empty()).then(|| ranges(&self.part.slice, tensor.dims())).transpose();
        let ranges = ranges.map_err(|sentence| about_tensor(path, &tensor, &sentence))?;
        let values = Values::open(context, &self.values, path)?;
        if let (Values::Array(..), Some(_)) = (&values, &self.from) {
            return Err(Error::usage("--from works with a model; a .npy has one array"));
        }
        let new = values.new_bytes(context, self.from.as_deref().unwrap_or(tensor.name()), dtype)?;
        let shape = new.dims().to_vec();
        let mut editor = ModelEditor::open(path)?;
        match &ranges {
            Some(ranges) => editor.set_slice(tensor.name(), ranges, new)?,
            None => editor.set_tensor(tensor.name(), new)?,
        }
        let [sum, c2pa] = [KEY, C2PA].map(|key| part.metadata().is_some_and(|pairs| pairs.contains_key(key)));
        editor.set_in_place_only();
        save(context, editor, path, "writing")?;
        let more = object! { tensor: tensor.name(), dtype: dtype.name(), shape: &shape, sum, c2pa };
        show(self.json, &about(&self.model, true, more), |out| {
            let (file, tensor) = (shown_path(&self.model), quoted(tensor.name()));
            let sum = if sum { ", and a new sum" } else { "" };
            writeln!(out, "{file}: wrote tensor {tensor}: {dtype} {shape:?}{sum}")?;
            if c2pa { writeln!(out, "  the C2PA manifest is invalid now; sign again") } else { Ok(()) }
        })?;
        Ok(Exit::Good)
    }
}
