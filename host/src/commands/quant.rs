//! `safetensors quant`: rewrites the weights of GPTQ and AWQ for reading row by row.

use crate::commands::Run;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::discover::reject_partial_models;
use crate::input::model::{Model, Padding, Tensor};
use crate::json::{self, Object};
use crate::output::model::NewModel;
use crate::output::overwrite::check_not_in_model;
use crate::output::stdout::complain;
use crate::table::{Side, Table};
use crate::tensor::quant::{Layer, Packing, Part};
use crate::tensor::slice::Sliced;
use crate::text::{counted, quoted, shown_text};
use embedded_safetensors::Dtype;
use embedded_safetensors::write::TensorSpec;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// Rewrite 4-bit weights of GPTQ or AWQ as matrices with groups along the row
///
/// No number changes. All other tensors and the metadata are copied, except `g_idx`, padding and an embedded
/// sum. If all zero points suggest the other format of GPTQ, a warning names it. Exit code: 0 if the file is
/// written, 1 if the model is invalid, 2 for all other errors, 130 if interrupted.
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
struct Planned<'m> {
    name: String,
    dtype: Dtype,
    dims: Vec<u64>,
    from: Source<'m>,
}

enum Source<'m> {
    /// Unchanged.
    Copy(Tensor<'m>),
    /// A part of the layer at this index.
    Layer(usize, Part),
}

/// What was written, for the summary.
struct Written<'l> {
    layers: &'l [Layer<'l>],
    tensors: u64,
    bytes: u64,
    padding: Padding,
}

impl Run for Quant {
    fn json(&self) -> bool {
        self.new.json
    }

    fn run(self, context: &Context) -> Outcome {
        self.new.check(Some(&self.model))?;
        reject_partial_models(std::slice::from_ref(&self.model), Some(&self.new.output))?;
        let model = Model::open(context, &self.model)?;
        check_not_in_model(&model, &self.new.output)?;
        let layers = Layer::all(&model, self.from)?;
        self.warn(&layers);
        let (tensors, padding) = plan(&model, &layers)?;
        let bytes = self.write(context, &model, &layers, &tensors)?;
        let written = Written { layers: &layers, tensors: tensors.len() as u64, bytes, padding };
        match self.new.is_file() {
            // The file went to standard output.
            false => {}
            true if self.new.json => self.print_json(written)?,
            true => self.print(written)?,
        }
        Ok(Exit::Good)
    }
}

/// The tensors of the output, and the padding that is left out.
fn plan<'m>(model: &'m Model, layers: &[Layer<'m>]) -> Result<(Vec<Planned<'m>>, Padding), Error> {
    let (tensors, padding) = model.without_padding()?;
    let others = tensors.into_iter().filter(|tensor| !layers.iter().any(|layer| layer.has(tensor.name())));
    let mut planned: Vec<_> = others
        .map(|tensor| Planned {
            name: tensor.name().to_owned(),
            dtype: tensor.dtype(),
            dims: tensor.dims().to_vec(),
            from: Source::Copy(tensor),
        })
        .collect();
    for (index, layer) in layers.iter().enumerate() {
        for part in layer.parts() {
            let (name, dtype, dims) = layer.describe(part);
            if planned.iter().any(|other| other.name == name) {
                let sentence =
                    format!("has a tensor {} beside {}", quoted(&name), quoted(layer.weights.name()));
                return Err(Error::about(model.path(), sentence));
            }
            planned.push(Planned { name, dtype, dims: dims.to_vec(), from: Source::Layer(index, part) });
        }
    }
    Ok((planned, padding))
}

impl Quant {
    /// Warns if the weights of a symmetric model would be shifted, because it has the other format of GPTQ.
    fn warn(&self, layers: &[Layer<'_>]) {
        let (Some(other), Some(layer)) = (Layer::suggested(layers), layers.first()) else { return };
        let (file, tensor) = (shown_text(&self.model.to_string_lossy()), quoted(layer.zeros.name()));
        let (option, stored) = if other == Packing::Gptq { ("gptq", 7) } else { ("gptq-v2", 8) };
        complain(format_args!(
            "{file}: warning: tensor {tensor} and all like it store only the zero point {stored}, as a \
             symmetric model of --from {option} does: use that, or every weight is shifted by one step"
        ));
    }

    /// Writes the file and returns its length.
    fn write(
        &self,
        context: &Context,
        model: &Model,
        layers: &[Layer<'_>],
        tensors: &[Planned<'_>],
    ) -> Result<u64, Error> {
        let specs: Vec<_> =
            tensors.iter().map(|tensor| TensorSpec::new(&tensor.name, tensor.dtype, &tensor.dims)).collect();
        let work = context.work("writing", model.tensors().map(|tensor| tensor.byte_len()).sum());
        self.new.write(context, model, &specs, |index, take| {
            match tensors.get(index).map(|planned| &planned.from) {
                Some(Source::Copy(tensor)) => Sliced::whole(model, *tensor).bytes(&work, take),
                Some(Source::Layer(layer, part)) => match layers.get(*layer) {
                    Some(layer) => layer.make(*part, &work, take),
                    None => Ok(()),
                },
                None => Ok(()),
            }
        })
    }

    fn print(&self, written: Written<'_>) -> Result<(), Error> {
        let Written { layers, tensors, bytes, padding } = written;
        let mut out = BufWriter::new(io::stdout().lock());
        let count = counted(tensors, "tensor");
        writeln!(
            out,
            "{}: {count}, {}",
            shown_text(&self.new.output.to_string_lossy()),
            counted(bytes, "byte")
        )?;
        let mut table = Table::new([
            ("rewritten", Side::Left),
            ("rows", Side::Right),
            ("columns", Side::Right),
            ("group", Side::Right),
            ("zero points", Side::Left),
        ]);
        for layer in layers {
            let [rows, columns, group] = [layer.outputs, layer.inputs, layer.group].map(|it| it.to_string());
            let zeros = if layer.has_zeros() { "stored" } else { "all 8" };
            table.push([quoted(&layer.describe(Part::Weights).0), rows, columns, group, zeros.to_owned()]);
        }
        match layers.is_empty() {
            true => writeln!(out, "  no tensor is named *.qweight: nothing was rewritten")?,
            false => table.print(&mut out)?,
        }
        padding.print(&mut out)?;
        Ok(out.flush()?)
    }

    fn print_json(&self, written: Written<'_>) -> Result<(), Error> {
        let Written { layers, tensors, bytes, padding } = written;
        let rewritten = layers.iter().map(|layer| {
            let object = Object::new().text("name", &layer.describe(Part::Weights).0);
            let object = object.number("rows", layer.outputs).number("columns", layer.inputs);
            object.number("group", layer.group).flag("zero_points", layer.has_zeros()).end()
        });
        let object = Object::new().text("file", &self.model.to_string_lossy()).flag("ok", true);
        let object = object.text("output", &self.new.output.to_string_lossy()).number("bytes", bytes);
        let object = object.number("tensors", tensors);
        let object = object.number("padding_left_out", padding.tensors);
        writeln!(io::stdout(), "{}", object.raw("rewritten", &json::array(rewritten)).end())?;
        Ok(())
    }
}
