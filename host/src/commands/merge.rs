//! `safetensors merge`: merges LoRAs into a model, or averages models.

use super::{Context, Error, Exit, Outcome, Run, check_stdin_once};
use crate::input::discover::reject_partial_models;
use crate::input::model::{Model, Padding, Tensor};
use crate::json::{List, about, object};
use crate::output::model::NewModel;
use crate::output::overwrite::check_not_in_model;
use crate::output::stdout::show;
use crate::table::{Side, Table};
use crate::tensor::merge::{Average, Merged, Pair, can_be_merged, is_lora, pairs_of};
use crate::text::{counted, quoted, shown_path};
use embedded_safetensors::write::TensorSpec;
use std::io;
use std::path::{Path, PathBuf};

/// Merge LoRAs into a model, or average models
///
/// The models after the first are LoRAs of PEFT or kohya, or all models have the same tensors. Numbers are
/// computed in 64 bits and rounded once, to the dtype of the first model, which also gives the metadata,
/// except an embedded sum. Exit code: 0 if the file is written, 1 if a model is invalid, 2 for all other
/// errors, 130 if interrupted.
#[derive(clap::Args)]
pub struct Merge {
    /// Base and LoRAs, or models with the same tensors: files, shard indexes or directories, or `-` for
    /// standard input
    #[arg(required = true, num_args = 2.., value_name = "MODEL")]
    models: Vec<PathBuf>,

    /// What the products of the LoRAs are multiplied with, or a list with a number for each LoRA; alpha /
    /// rank, too, where the LoRA has an alpha
    #[arg(long, value_name = "S", value_delimiter = ',', value_parser = finite, allow_negative_numbers = true)]
    scale: Vec<f64>,

    /// What the numbers of each model are multiplied with [default: 1 / the number of models]
    #[arg(long, value_name = "W1,W2", value_delimiter = ',', value_parser = finite, allow_negative_numbers = true)]
    weights: Vec<f64>,

    #[command(flatten)]
    new: NewModel,
}

impl Run for Merge {
    fn run(self, context: &Context) -> Outcome {
        check_stdin_once(&self.models)?;
        self.new.check(&self.models.iter().map(|path| &**path).collect::<Vec<_>>())?;
        reject_partial_models(&self.models, Some(&self.new.output))?;
        let models = self.models.iter().map(|path| open(context, path)).collect::<Result<Vec<_>, _>>()?;
        models.iter().try_for_each(|model| check_not_in_model(model, &self.new.output))?;
        let (tensors, padding) = models[0].without_padding()?;
        let merged = self.merged(&models, &tensors)?;
        let bytes = self.write(context, &models, &tensors, &merged)?;
        if self.new.is_file() {
            self.print(&tensors, &merged, (bytes, padding))?;
        }
        Ok(Exit::Good)
    }
}

/// Opens a model. The numbers of a LoRA are read several times, so one on a server becomes a file.
fn open(context: &Context, path: &Path) -> Result<Model, Error> {
    let model = Model::open(context, path)?;
    let is_remote = model.parts().iter().any(|part| part.remote().is_some());
    if is_remote && is_lora(&model) { Model::open_in_file(context, path) } else { Ok(model) }
}

impl Merge {
    fn merged<'m>(&self, models: &'m [Model], tensors: &[Tensor<'m>]) -> Result<Merged<'m>, Error> {
        let (others, loras) = (&models[1..], models[1..].iter().filter(|model| is_lora(model)).count());
        let count = |numbers: &[f64]| counted(numbers.len() as u64, "number");
        if loras == 0 && self.scale.is_empty() {
            if ![0, models.len()].contains(&self.weights.len()) {
                let (given, needed) = (count(&self.weights), models.len());
                return Err(Error::usage(format!("--weights has {given}, but {needed} models are given")));
            }
            return Average::of(models, tensors, &self.weights).map(Merged::Average);
        }
        if let Some(other) = others.iter().find(|model| !is_lora(model)) {
            return Err(Error::about(
                other.path(),
                "has no lora_A or lora_down, as all models after the first \
                need with --scale or beside a LoRA",
            ));
        }
        if !self.weights.is_empty() || ![0, 1, loras].contains(&self.scale.len()) {
            let given = count(&self.scale);
            let sentence = format!("LoRAs need one --scale or {loras}, and no --weights; {given} given");
            return Err(Error::usage(sentence));
        }
        let scale = |at: usize| self.scale.get(at).or(self.scale.first()).copied();
        pairs_of(tensors, others.iter().enumerate().map(|(at, model)| (model, scale(at)))).map(Merged::Loras)
    }

    /// Writes the file and returns its length.
    fn write(
        &self,
        context: &Context,
        models: &[Model],
        tensors: &[Tensor<'_>],
        merged: &Merged<'_>,
    ) -> Result<u64, Error> {
        let specs =
            tensors.iter().map(|tensor| TensorSpec::new(tensor.name(), tensor.dtype(), tensor.dims()));
        let specs: Vec<_> = specs.collect();
        let work = context.work("merging", tensors.iter().map(|tensor| tensor.byte_len()).sum());
        let all: Vec<_> = models.iter().collect();
        self.new.write(context, &all, models[0].pairs(), &specs, |index, take| {
            merged.make(&models[0], (index, &tensors[index]), &work, take)
        })
    }

    fn print(
        &self,
        tensors: &[Tensor<'_>],
        merged: &Merged<'_>,
        (bytes, padding): (u64, Padding),
    ) -> io::Result<()> {
        let rows = rows(tensors, merged);
        let weights = if let Merged::Average(average) = merged {
            average.weights.iter().map(|weight| weight / average.divisor).collect()
        } else {
            Vec::new()
        };
        let in_json = rows.iter().map(|(tensor, pair)| {
            let of_pair = pair.map(|Pair { name, down, rank, factor, .. }| {
                object! { lora: down.model().path().to_string_lossy(), pair: name, rank, factor }
            });
            let (name, dtype, shape) = (tensor.name(), tensor.dtype().name(), tensor.dims());
            object! { name, dtype, shape, #[serde(flatten)] of_pair }
        });
        let (output, count) = (self.new.output.to_string_lossy(), tensors.len());
        let models = List(self.models.iter().map(|model| model.to_string_lossy()));
        let done = object! {
            models, output, bytes, tensors: count, padding_left_out: padding, weights: &weights,
            merged: List(in_json),
        };
        show(self.new.json, &about(&self.models[0], true, done), |mut out| {
            writeln!(out, "{}", self.new.summary(count, bytes))?;
            for (weight, model) in weights.iter().zip(&self.models) {
                writeln!(out, "  {weight} * {}", shown_path(model))?;
            }
            let left = ["merged", "dtype", "shape", "pair"].map(|title| (title, Side::Left));
            let right = ["rank", "factor"].map(|title| (title, Side::Right));
            // An average has no pairs.
            let columns = left.into_iter().chain(right).take(if weights.is_empty() { 6 } else { 3 });
            let mut table = Table::new(columns);
            for (tensor, pair) in &rows {
                let of_pair = pair.map(|pair| {
                    let file = shown_path(pair.down.model().path());
                    [
                        pair.rank.to_string(),
                        pair.factor.to_string(),
                        format!("{} of {file}", quoted(pair.name)),
                    ]
                });
                let shape = format!("{:?}", tensor.dims());
                let cells = [quoted(tensor.name()), tensor.dtype().to_string(), shape];
                table.push(cells.into_iter().chain(of_pair.into_iter().flatten()));
            }
            table.print(&mut out)?;
            padding.print(&mut out)
        })
    }
}

/// Each merged tensor with its pair, or with none if it is averaged.
fn rows<'t, 'm>(
    tensors: &'t [Tensor<'m>],
    merged: &'t Merged<'m>,
) -> Vec<(&'t Tensor<'m>, Option<&'t Pair<'m>>)> {
    match merged {
        Merged::Loras(pairs) => {
            let pairs = tensors.iter().zip(pairs);
            pairs.flat_map(|(tensor, pairs)| pairs.iter().map(move |pair| (tensor, Some(pair)))).collect()
        }
        Merged::Average(_) => {
            let floats = tensors.iter().filter(|tensor| can_be_merged(tensor.dtype()));
            floats.map(|tensor| (tensor, None)).collect()
        }
    }
}

/// # Errors
/// The text is not a finite number.
fn finite(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| "a finite number is needed".to_owned())
}
