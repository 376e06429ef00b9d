//! `safetensors quant`: rewrites the weights of GPTQ and AWQ for reading row by row.

use super::{Context, Error, Outcome, Run};
use crate::input::discover::reject_partial_models;
use crate::input::model::{Model, Padding, Tensor};
use crate::json::{List, object};
use crate::output::model::NewModel;
use crate::output::overwrite::check_not_in_model;
use crate::output::stdout::complain;
use crate::table::{Side, Table};
use crate::tensor::quant::{Layer, Packing, Part};
use crate::tensor::slice::Sliced;
use crate::text::terminal::Stream;
use crate::text::{quoted, shown_path};
use embedded_safetensors::Dtype;
use embedded_safetensors::write::TensorSpec;
use std::path::PathBuf;

/// Rewrite 4-bit weights of GPTQ or AWQ as matrices with groups along the row
///
/// No number changes. All other tensors and the metadata are copied, except `g_idx`, padding and an embedded
/// sum. If all zero points suggest the other format of GPTQ, a warning names it. Exit code: 0 if the file is
/// written, 1 if the model is invalid or has no such weights, 2 for all other errors, 130 if interrupted.
#[derive(clap::Args)]
pub struct Quant {
    /// Model: a file, a shard index or directory, or `-` for standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// How the weights are packed
    #[arg(long, value_name = "PACKING")]
    from: Packing,

    #[command(flatten)]
    new: NewModel,
}

/// A tensor of the output.
enum Planned<'m> {
    Copy(Tensor<'m>),
    /// With its name, dtype and shape.
    New(&'m Layer<'m>, (Part, String, Dtype, [u64; 2])),
}

impl Planned<'_> {
    fn spec(&self) -> TensorSpec<'_> {
        match self {
            Self::Copy(tensor) => TensorSpec::new(tensor.name(), tensor.dtype(), tensor.dims()),
            Self::New(_, (_, name, dtype, dims)) => TensorSpec::new(name, *dtype, dims),
        }
    }
}

impl Run for Quant {
    fn run(self, context: &Context) -> Outcome {
        self.new.check(&[&self.model])?;
        reject_partial_models(std::slice::from_ref(&self.model), Some(&self.new.output))?;
        let model = Model::open(context, &self.model)?;
        check_not_in_model(&model, &self.new.output)?;
        let layers = Layer::all(&model, self.from)?;
        if layers.is_empty() {
            let sentence = "no tensor is named *.qweight: nothing to rewrite";
            return Err(Error::bad(&self.model, "no-layers", sentence));
        }
        self.warn(&layers);
        let (tensors, padding) = plan(&model, &layers)?;
        let bytes = self.write(context, &model, &tensors)?;
        self.print(&layers, (tensors.len(), bytes), padding)
    }
}

/// The tensors of the output, and the padding that is left out.
fn plan<'m>(model: &'m Model, layers: &'m [Layer<'m>]) -> Result<(Vec<Planned<'m>>, Padding), Error> {
    let (tensors, padding) = model.without_padding()?;
    let others = tensors.into_iter().filter(|tensor| !layers.iter().any(|layer| layer.has(tensor.name())));
    let mut planned: Vec<_> = others.map(Planned::Copy).collect();
    for layer in layers {
        for new in layer.parts() {
            if planned.iter().any(|other| other.spec().name() == new.1) {
                let sentence =
                    format!("has a tensor {} beside {}", quoted(&new.1), quoted(layer.weights.name()));
                return Err(Error::about(model.path(), sentence));
            }
            planned.push(Planned::New(layer, new));
        }
    }
    Ok((planned, padding))
}

impl Quant {
    /// Warns if the weights of a symmetric model would be shifted, because it has the other format of GPTQ.
    fn warn(&self, layers: &[Layer<'_>]) {
        let (Some(other), Some(layer)) = (Layer::suggested(layers), layers.first()) else { return };
        let (file, tensor) = (shown_path(&self.model), quoted(layer.zeros.name()));
        let warning = Stream::Err.bad("warning:");
        let (option, stored) = if other == Packing::Gptq { ("gptq", 7) } else { ("gptq-v2", 8) };
        complain(format_args!(
            "{file}: {warning} tensor {tensor} and all like it store only the zero point {stored}, as a \
             symmetric model of --from {option} does: use that, or every weight is shifted by one step"
        ));
    }

    /// Writes the file and returns its length.
    fn write(&self, context: &Context, model: &Model, tensors: &[Planned<'_>]) -> Result<u64, Error> {
        let specs: Vec<_> = tensors.iter().map(Planned::spec).collect();
        let work = context.work("writing", model.tensors().map(|tensor| tensor.byte_len()).sum());
        self.new.write(context, &[model], model.pairs(), &specs, |index, take| match &tensors[index] {
            Planned::Copy(tensor) => Sliced::whole(model, *tensor).bytes(&work, take),
            Planned::New(layer, (part, ..)) => layer.make(*part, &work, take),
        })
    }

    fn print(&self, layers: &[Layer<'_>], (tensors, bytes): (usize, u64), padding: Padding) -> Outcome {
        let rewritten = layers.iter().filter_map(|layer| Some((layer.parts().next()?.1, layer)));
        let matrices = rewritten.clone().map(|(name, layer)| {
            let (rows, columns, group) = (layer.outputs, layer.inputs, layer.group);
            object! { name, rows, columns, group, zero_points: layer.has_zeros() }
        });
        let (output, rewritten_in_json) = (self.new.output.to_string_lossy(), List(matrices));
        let done =
            object! { output, bytes, tensors, padding_left_out: padding, rewritten: rewritten_in_json };
        self.new.say(&self.model, done, |mut out| {
            writeln!(out, "{}", self.new.summary(tensors, bytes))?;
            let [name, zeros] = ["rewritten", "zero points"].map(|title| (title, Side::Left));
            let [rows, columns, group] = ["rows", "columns", "group"].map(|title| (title, Side::Right));
            let mut table = Table::new([name, rows, columns, group, zeros]);
            for (name, layer) in rewritten {
                let [rows, columns, group] =
                    [layer.outputs, layer.inputs, layer.group].map(|n| n.to_string());
                let zeros = if layer.has_zeros() { "stored" } else { "all 8" }.to_owned();
                table.push([quoted(&name), rows, columns, group, zeros]);
            }
            table.print(&mut out)?;
            padding.print(&mut out)
        })
    }
}
