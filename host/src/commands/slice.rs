//! `safetensors slice`: writes slices of tensors into a new model.

use super::{Context, Error, Outcome, Run};
use crate::input::model::{Model, with_slice};
use crate::input::selection::Selection;
use crate::json::{List, object};
use crate::output::model::NewModel;
use crate::output::overwrite::check_not_in_model;
use crate::table::{Side, Table};
use crate::tensor::slice::Sliced;
use crate::text::quoted;
use embedded_safetensors::write::TensorSpec;
use std::collections::HashSet;
use std::path::PathBuf;

/// Write slices of tensors into a new safetensors file
///
/// Slices have the same meaning as in numpy, except that negative steps are not supported. The metadata is
/// kept, except an embedded sum. Exit code: 0 if the file is written, 1 if the model is invalid, 2 for all
/// other errors, 130 if interrupted.
#[derive(clap::Args)]
pub struct Slice {
    /// Model: a file, a shard index or directory, or `-` for standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Tensor and slice in numpy notation, such as `fc1.weight=0:10,::2`; `TENSOR=` takes the whole tensor;
    /// TENSOR may be a glob, with *, ? and […]
    #[arg(required = true, value_name = "TENSOR=SPEC")]
    slices: Vec<String>,

    #[command(flatten)]
    new: NewModel,
}

impl Run for Slice {
    fn run(self, context: &Context) -> Outcome {
        let asked = self.slices.iter().map(|slice| split(slice)).collect::<Result<Vec<_>, _>>()?;
        self.new.check(&[&self.model])?;
        let model = Model::open(context, &self.model)?;
        check_not_in_model(&model, &self.new.output)?;
        let slices = slices(&model, &asked)?;
        let bytes = self.write(context, &model, &slices)?;
        self.print(&slices, bytes)
    }
}

/// The name and the slice of an argument. A name may contain `=`, a slice cannot.
fn split(slice: &str) -> Result<(&str, &str), Error> {
    slice.rsplit_once('=').ok_or_else(|| {
        let part =
            with_slice(slice).map_or("TENSOR=0:10".to_owned(), |(name, slice)| format!("{name}={slice}"));
        let advice = format!("write {} for a slice, or TENSOR= for a whole tensor", quoted(&part));
        Error::usage(format!("{} has no `=`; {advice}", quoted(slice)))
    })
}

/// The slices of all tensors that are named, or match a glob.
///
/// # Errors
/// No tensor has this name or matches; two arguments take the same tensor; there is no such slice of one.
fn slices<'m>(model: &'m Model, asked: &[(&str, &str)]) -> Result<Vec<Sliced<'m>>, Error> {
    let (mut slices, mut seen): (Vec<Sliced<'_>>, _) = (Vec::new(), HashSet::new());
    for (name, spec) in asked {
        // A name may look like a glob, or have its slice as in numpy.
        let is_name = |name| model.find(name).is_some();
        let is_named = is_name(name) || with_slice(name).is_some_and(|(name, _)| is_name(name));
        let is_glob = name.contains(['*', '?', '[']) && !is_named;
        let first = slices.len();
        if is_glob {
            let choice = Selection { only: vec![(*name).to_owned()], except: Vec::new() };
            let (tensors, _) = model.without_padding()?;
            let about = |sentence| Error::about(model.path(), sentence);
            choice.check(|| tensors.iter().map(|tensor| tensor.name())).map_err(about)?;
            for tensor in tensors.iter().filter(|tensor| choice.takes(tensor.name())) {
                slices.push(Sliced::of(model, tensor.name(), spec)?);
            }
        } else {
            slices.push(Sliced::of(model, name, spec)?);
        }
        if let Some(again) = slices[first..].iter().find(|slice| !seen.insert(slice.name())) {
            return Err(Error::usage(format!("tensor {} is given twice", quoted(again.name()))));
        }
    }
    Ok(slices)
}

impl Slice {
    /// Writes the file and returns its length.
    fn write(&self, context: &Context, model: &Model, slices: &[Sliced<'_>]) -> Result<u64, Error> {
        let total = slices.iter().map(Sliced::byte_len).sum::<Result<u64, _>>()?;
        let tensors: Vec<_> =
            slices.iter().map(|slice| TensorSpec::new(slice.name(), slice.dtype(), slice.dims())).collect();
        let (work, pairs) = (context.work("writing", total), model.pairs());
        self.new.write(context, &[model], pairs, &tensors, |index, take| slices[index].bytes(&work, take))
    }

    fn print(&self, slices: &[Sliced<'_>], bytes: u64) -> Outcome {
        let tensors = slices.iter().map(|slice| {
            object! { name: slice.name(), dtype: slice.dtype().name(), shape: slice.dims() }
        });
        let done = object! { output: self.new.output.to_string_lossy(), bytes, tensors: List(tensors) };
        self.new.say(&self.model, done, |mut out| {
            writeln!(out, "{}", self.new.summary(slices.len(), bytes))?;
            let mut table = Table::new(["tensor", "dtype", "shape"].map(|title| (title, Side::Left)));
            for slice in slices {
                let shape = format!("{:?}", slice.dims());
                table.push([quoted(slice.name()), slice.dtype().to_string(), shape]);
            }
            table.print(&mut out)
        })
    }
}
