//! Outputs of a conversion: a model, an array, an archive or a GGUF.

use super::change::Changer;
use super::input::Input;
use super::plan::{Plan, Planned};
use super::reports::Reports;
use crate::args::kind::Kind;
use crate::context::Context;
use crate::error::Error;
use crate::output::file::Product;
use crate::output::writer::{Fresh, planned_len};
use embedded_safetensors::write::{FileSpec, TensorSpec};
use safetensors_convert::gguf;
use safetensors_convert::numpy::Header;
use safetensors_convert::zip::Archive;
use std::io::{self, Write};
use std::path::Path;

/// The output file and its options.
pub struct Output<'o> {
    pub path: &'o Path,
    pub force: bool,
    pub is_compressed: bool,
    pub metadata: Option<Vec<(String, String)>>,
    /// Whether the changes of all tensors are reported.
    pub reports_all: bool,
}

/// Called after the last read and before the file is put in place.
type Check<'c> = &'c mut dyn FnMut() -> Result<(), Error>;

impl Output<'_> {
    /// The length of the file that would be written, if it is known before.
    ///
    /// # Errors
    /// The file is impossible.
    pub fn len(&self, input: &Input, plan: &Plan) -> Result<Option<u64>, Error> {
        match (Kind::of_output(self.path)?, &plan.tensors[..]) {
            (Kind::Model, tensors) => {
                let (specs, pairs) = (specs(input, tensors), self.pairs());
                planned_len(spec(&specs, pairs.as_deref()), self.path).map(Some)
            }
            (Kind::Array, [only]) => {
                Ok(Some(header(input, only).len() as u64 + only.array(input).byte_len()))
            }
            (Kind::Gguf, _) => Ok(Some(self.gguf(input, plan)?.file_len())),
            _ => Ok(None),
        }
    }

    /// The number of keys of metadata that the output cannot hold.
    ///
    /// # Errors
    /// The suffix is unknown.
    pub fn lost(&self) -> Result<usize, Error> {
        let pairs = self.metadata.as_deref().unwrap_or_default();
        Ok(match Kind::of_output(self.path)? {
            Kind::Model => 0,
            Kind::Gguf => left_out_by_gguf(pairs),
            Kind::Array | Kind::Archive => pairs.len(),
        })
    }

    fn pairs(&self) -> Option<Vec<(&str, &str)>> {
        let pairs = self.metadata.as_ref()?;
        Some(pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect())
    }

    fn gguf<'t>(&'t self, input: &'t Input, plan: &'t Plan) -> Result<gguf::Plan<'t>, Error> {
        let pairs = self.metadata.as_deref().unwrap_or_default();
        gguf::Plan::of(specs(input, &plan.tensors), pairs).map_err(|error| input.about(error.to_string()))
    }
}

fn spec<'s>(tensors: &'s [TensorSpec<'s>], pairs: Option<&'s [(&'s str, &'s str)]>) -> FileSpec<'s> {
    let spec = FileSpec::new(tensors);
    pairs.map_or(spec, |pairs| spec.with_metadata(pairs))
}

fn left_out_by_gguf(pairs: &[(String, String)]) -> usize {
    // A plan without tensors knows no raw types.
    let typed = pairs
        .iter()
        .filter(|(key, _)| key.starts_with("gguf.") || [gguf::TYPES, gguf::KEYS].contains(&&**key));
    pairs.len() - typed.count()
}

/// The tensors of the output, as its writer needs them.
fn specs<'p>(input: &'p Input, tensors: &'p [Planned]) -> Vec<TensorSpec<'p>> {
    let arrays = tensors.iter().map(|planned| planned.array(input));
    arrays.map(|array| TensorSpec::new(array.name, array.dtype, array.dims)).collect()
}

/// Produces all tensors of the plan, and puts the file in place if `check` succeeds after the last read.
/// Returns the changes in the numbers of each tensor.
///
/// # Errors
/// Those of the input and the output; no output is left then.
pub fn write(
    context: &Context,
    output: &Output<'_>,
    plan: &Plan,
    changer: &mut Changer<'_>,
    check: Check<'_>,
) -> Result<Reports, Error> {
    match Kind::of_output(output.path)? {
        Kind::Model => write_model(context, output, plan, changer, check),
        Kind::Array => write_array(context, output, plan, changer, check),
        Kind::Archive => write_archive(context, output, plan, changer, check),
        Kind::Gguf => write_gguf(context, output, plan, changer, check),
    }
}

fn write_model(
    context: &Context,
    output: &Output<'_>,
    plan: &Plan,
    changer: &mut Changer<'_>,
    check: Check<'_>,
) -> Result<Reports, Error> {
    let mut product = Product::create(context, output.path, output.force)?;
    let (specs, pairs) = (specs(changer.input(), &plan.tensors), output.pairs());
    let mut file = Fresh::begin(spec(&specs, pairs.as_deref()), (&mut product, output.path))?;
    drop(specs);
    let mut reports = Reports::new(output.reports_all);
    let mut places = file.take_places();
    places.sort_unstable_by_key(|(index, _)| *index);
    // In plan order, so that the scales of a tensor follow it.
    for (planned, (_, place)) in plan.tensors.iter().zip(places) {
        reports.push(file.tensor(&place, |take| changer.make(planned, take))?);
    }
    check()?;
    product.finish()?;
    Ok(reports)
}

fn write_array(
    context: &Context,
    output: &Output<'_>,
    plan: &Plan,
    changer: &mut Changer<'_>,
    check: Check<'_>,
) -> Result<Reports, Error> {
    let mut product = Product::create(context, output.path, output.force)?;
    let mut reports = Reports::new(output.reports_all);
    for planned in &plan.tensors {
        product.put(&header(changer.input(), planned))?;
        reports.push(changer.make(planned, &mut |bytes| product.put(bytes))?);
    }
    check()?;
    product.finish()?;
    Ok(reports)
}

/// An error of this command or of the archive's file.
enum Trouble {
    Said(Error),
    Write(io::Error),
}

impl Trouble {
    fn about(self, path: &Path) -> Error {
        match self {
            Self::Said(complaint) => complaint,
            Self::Write(error) => Error::cannot_write(path, &error),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

fn write_archive(
    context: &Context,
    output: &Output<'_>,
    plan: &Plan,
    changer: &mut Changer<'_>,
    check: Check<'_>,
) -> Result<Reports, Error> {
    let said = |trouble: Trouble| trouble.about(output.path);
    let mut archive =
        Archive::new(Product::create(context, output.path, output.force)?, output.is_compressed);
    let mut reports = Reports::new(output.reports_all);
    for planned in &plan.tensors {
        let name = format!("{}.npy", planned.array(changer.input()).name);
        let fill = |out: &mut dyn Write| {
            out.write_all(&header(changer.input(), planned))?;
            let made = changer.make(planned, &mut |bytes| put(out, bytes, output.path));
            reports.push(made.map_err(Trouble::Said)?);
            Ok(())
        };
        archive.add(&name, fill).map_err(said)?;
    }
    check()?;
    archive.finish().map_err(|error| said(Trouble::Write(error)))?.finish()?;
    Ok(reports)
}

fn write_gguf(
    context: &Context,
    output: &Output<'_>,
    plan: &Plan,
    changer: &mut Changer<'_>,
    check: Check<'_>,
) -> Result<Reports, Error> {
    let said = |trouble: Trouble| trouble.about(output.path);
    let layout = output.gguf(changer.input(), plan)?;
    let mut product = Product::create(context, output.path, output.force)?;
    product.expect(layout.file_len());
    let mut writer = layout.begin(product).map_err(|error| said(Trouble::Write(error)))?;
    let mut reports = Reports::new(output.reports_all);
    for planned in &plan.tensors {
        let fill = |out: &mut dyn Write| {
            let made = changer.make(planned, &mut |bytes| put(out, bytes, output.path));
            reports.push(made.map_err(Trouble::Said)?);
            Ok(())
        };
        writer.write_with(fill).map_err(said)?;
    }
    check()?;
    writer.finish().map_err(|error| said(Trouble::Write(error)))?.finish()?;
    Ok(reports)
}

fn put(out: &mut dyn Write, bytes: &[u8], path: &Path) -> Result<(), Error> {
    out.write_all(bytes).map_err(|error| Error::cannot_write(path, &error))
}

/// The plan has only dtypes that numpy has.
fn header(input: &Input, planned: &Planned) -> Vec<u8> {
    let array = planned.array(input);
    Header::spelled(array.dtype, array.dims).unwrap_or_default()
}
