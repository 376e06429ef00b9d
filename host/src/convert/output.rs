//! Outputs of a conversion: a model, an array or an archive.

use super::change::Changer;
use super::kind::Kind;
use super::plan::{Plan, Planned};
use crate::complaint::Complaint;
use crate::pack::Fresh;
use crate::product::Product;
use embedded_safetensors::write::{FileSpec, TensorSpec};
use safetensors_convert::numbers::Report;
use safetensors_convert::numpy::Header;
use safetensors_convert::zip::Archive;
use std::io::{self, Write};
use std::path::Path;

/// The output file and its options.
pub struct Output<'o> {
    pub path: &'o Path,
    pub force: bool,
    pub is_compressed: bool,
    pub metadata: Option<Vec<(&'o str, &'o str)>>,
}

/// Produces all tensors of the plan, and puts the file in place if `check` succeeds after the last read.
/// Returns the changes in the numbers of each tensor.
///
/// # Errors
/// Those of the input and the output; no output is left then.
pub fn write(
    output: &Output<'_>,
    plan: &Plan,
    changer: &mut Changer<'_>,
    check: &dyn Fn() -> Result<(), Complaint>,
) -> Result<Vec<Option<Report>>, Complaint> {
    match Kind::of_output(output.path)? {
        Kind::Model => write_model(output, plan, changer, check),
        Kind::Array => write_array(output, plan, changer, check),
        Kind::Archive => write_archive(output, plan, changer, check),
    }
}

fn write_model(
    output: &Output<'_>,
    plan: &Plan,
    changer: &mut Changer<'_>,
    check: &dyn Fn() -> Result<(), Complaint>,
) -> Result<Vec<Option<Report>>, Complaint> {
    let specs = plan
        .tensors
        .iter()
        .map(|Planned { array, .. }| TensorSpec::new(&array.name, array.dtype, &array.dims));
    let specs: Vec<_> = specs.collect();
    let spec = FileSpec::new(&specs);
    let spec = output.metadata.as_ref().map_or(spec, |pairs| spec.with_metadata(pairs));
    let mut product = Product::create(output.path, output.force)?;
    let mut file = Fresh::begin(spec, (&mut product, output.path))?;
    let mut reports = Vec::new();
    let mut places = file.places();
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
    output: &Output<'_>,
    plan: &Plan,
    changer: &mut Changer<'_>,
    check: &dyn Fn() -> Result<(), Complaint>,
) -> Result<Vec<Option<Report>>, Complaint> {
    let mut product = Product::create(output.path, output.force)?;
    let mut reports = Vec::new();
    for planned in &plan.tensors {
        product.put(&header(planned))?;
        reports.push(changer.make(planned, &mut |bytes| product.put(bytes))?);
    }
    check()?;
    product.finish()?;
    Ok(reports)
}

/// An error of this command or of the archive's file.
enum Trouble {
    Said(Complaint),
    Write(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

fn write_archive(
    output: &Output<'_>,
    plan: &Plan,
    changer: &mut Changer<'_>,
    check: &dyn Fn() -> Result<(), Complaint>,
) -> Result<Vec<Option<Report>>, Complaint> {
    let said = |trouble| match trouble {
        Trouble::Said(complaint) => complaint,
        Trouble::Write(error) => Complaint::cannot_write(output.path, &error),
    };
    let mut archive = Archive::new(Product::create(output.path, output.force)?, output.is_compressed);
    let mut reports = Vec::new();
    for planned in &plan.tensors {
        let name = format!("{}.npy", planned.array.name);
        let fill = |out: &mut dyn Write| {
            out.write_all(&header(planned))?;
            reports.push(
                changer.make(planned, &mut |bytes| put(out, bytes, output.path)).map_err(Trouble::Said)?,
            );
            Ok(())
        };
        archive.add(&name, fill).map_err(said)?;
    }
    check()?;
    archive.finish().map_err(|error| said(error.into()))?.finish()?;
    Ok(reports)
}

fn put(out: &mut dyn Write, bytes: &[u8], path: &Path) -> Result<(), Complaint> {
    out.write_all(bytes).map_err(|error| Complaint::cannot_write(path, &error))
}

/// The plan has only dtypes that numpy has.
fn header(planned: &Planned) -> Vec<u8> {
    Header::spelled(planned.array.dtype, &planned.array.dims).unwrap_or_default()
}
