//! `safetensors merge`: merges LoRAs into a model, or averages models.

use super::{Context, Error, Outcome, Run, check_stdin_once};
use crate::input::discover::reject_partial_models;
use crate::input::model::{Model, Padding, Tensor, bytes_of};
use crate::json::{List, object};
use crate::output::model::NewModel;
use crate::output::overwrite::check_not_in_model;
use crate::tensor::merge::{Merged, average, is_lora, loras};
use crate::text::{counted, quoted, shown_path};
use embedded_safetensors::write::TensorSpec;
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

    /// Factor of the LoRAs: one number, or one for each. A LoRA with an alpha is also multiplied by alpha /
    /// rank
    #[arg(long, value_name = "S", value_delimiter = ',', value_parser = finite, allow_negative_numbers = true)]
    scale: Vec<f64>,

    /// Average, with these factors of the models [default: 1 / the number of models]
    #[arg(
        long,
        value_name = "W1,W2",
        value_delimiter = ',',
        value_parser = finite,
        allow_negative_numbers = true,
        conflicts_with = "scale"
    )]
    weights: Vec<f64>,

    #[command(flatten)]
    new: NewModel,
}

fn finite(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or("a finite number is needed")
}

impl Run for Merge {
    fn run(self, context: &Context) -> Outcome {
        check_stdin_once(&self.models)?;
        self.new.check(&self.models.iter().map(|path| &**path).collect::<Vec<_>>())?;
        reject_partial_models(&self.models, Some(&self.new.output))?;
        let models = self.models.iter().map(|path| open(context, path)).collect::<Result<Vec<_>, _>>()?;
        models.iter().try_for_each(|model| check_not_in_model(model, &self.new.output))?;
        let (tensors, padding) = models[0].without_padding()?;
        let merged = self.merged(context, &models, &tensors)?;
        let specs =
            tensors.iter().map(|tensor| TensorSpec::new(tensor.name(), tensor.dtype(), tensor.dims()));
        let (specs, all): (Vec<_>, Vec<_>) = (specs.collect(), models.iter().collect());
        let work = context.work("merging", bytes_of(&tensors));
        let bytes = self.new.write(context, &all, models[0].pairs(), &specs, |index, take| {
            merged.make(&models[0], (index, &tensors[index]), &work, take)
        })?;
        self.print(&tensors, &merged, (bytes, padding))
    }
}

/// Opens a model. The numbers of a LoRA are read several times, so one on a server becomes a file.
fn open(context: &Context, path: &Path) -> Result<Model, Error> {
    let model = Model::open(context, path)?;
    let is_remote = model.parts().iter().any(|part| part.remote().is_some());
    if is_remote && is_lora(&model) { Model::open_in_file(context, path) } else { Ok(model) }
}

impl Merge {
    fn merged<'m>(
        &self,
        context: &Context,
        models: &'m [Model],
        tensors: &[Tensor<'m>],
    ) -> Result<Merged<'m>, Error> {
        let others = &models[1..];
        let is_average = !self.weights.is_empty() || self.scale.is_empty() && !others.iter().any(is_lora);
        if let Some(other) = others.iter().find(|model| !is_average && !is_lora(model)) {
            let sentence = "has no lora_A or lora_down, as all models after the first need with --scale or \
                beside a LoRA";
            return Err(Error::about(other.path(), sentence));
        }
        let (option, numbers, needed) = match is_average {
            true => ("--weights", &self.weights, models.len()),
            false => ("--scale", &self.scale, others.len()),
        };
        if ![0, needed].contains(&numbers.len()) && (is_average || numbers.len() != 1) {
            let given = counted(numbers.len() as u64, "number");
            return Err(Error::usage(format!("{option} has {given}, {needed} needed")));
        }
        if is_average { average(context, models, tensors, numbers) } else { loras(models, tensors, numbers) }
    }

    fn print(
        &self,
        tensors: &[Tensor<'_>],
        merged: &Merged<'_>,
        (bytes, padding): (u64, Padding),
    ) -> Outcome {
        let pairs = tensors.iter().zip(&merged.terms).flat_map(|(tensor, terms)| {
            terms.iter().filter_map(move |term| Some((tensor, term, term.pair()?)))
        });
        let in_json = pairs.clone().map(|(tensor, term, (pair, rank))| {
            let lora = term.tensor.model().path().to_string_lossy();
            object! { name: tensor.name(), lora, pair, rank, factor: term.factor }
        });
        let (output, count) = (self.new.output.to_string_lossy(), tensors.len());
        let models = List(self.models.iter().map(|model| model.to_string_lossy()));
        let weights: Vec<_> = merged.weights.iter().map(|weight| weight / merged.divisor).collect();
        let done = object! {
            models, output, bytes, tensors: count, padding_left_out: padding, weights: &weights,
            merged: List(in_json),
        };
        self.new.say(&self.models[0], done, |mut out| {
            writeln!(out, "{}", self.new.summary(count, bytes))?;
            for (weight, model) in weights.iter().zip(&self.models) {
                writeln!(out, "  {weight} * {}", shown_path(model))?;
            }
            for (tensor, term, (pair, rank)) in pairs {
                let [name, pair] = [tensor.name(), pair].map(quoted);
                let (factor, file) = (term.factor, shown_path(term.tensor.model().path()));
                writeln!(out, "  {name} + {factor} * {pair} of {file}, rank {rank}")?;
            }
            padding.print(&mut out)
        })
    }
}
