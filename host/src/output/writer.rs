//! A model whose tensors are produced while it is written.

use crate::error::Error;
use crate::output::file::Product;
use crate::text::quoted;
use embedded_safestructures::{Event, Frame, SCHEMA, Structure, VERSION_KEY, Value};
use embedded_safetensors::write::{
    FilePlan, FileSpec, PlannedContent, SpecError, SpecErrorKind, SpecPart, TensorSpec,
};
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

/// Passes on bytes of a tensor.
pub type Take<'t> = &'t mut dyn FnMut(&[u8]) -> Result<(), Error>;

/// As many as any schema needs.
pub const FRAMES: usize = 63;

/// Plans a model in the order of the reference or as given, and passes the plan to `see`.
///
/// # Errors
/// The specification is invalid; those of `see`.
pub fn planned<R>(
    spec: FileSpec<'_>,
    is_canonical: bool,
    path: &Path,
    see: impl FnOnce(&FilePlan<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let mut memory = vec![0; spec.tensors().len() + spec.metadata().map_or(0, <[_]>::len)];
    let plan = match is_canonical {
        true => spec.plan_sorted(&mut memory),
        false => spec.plan_as_given(&mut memory),
    };
    see(&plan.map_err(|error| refusal(error, spec.tensors(), path))?)
}

/// The index of each tensor in a specification, and its range in the file.
pub type Places = Vec<(usize, Range<u64>)>;

/// Writes the header of a new model. Returns the length of the complete file, and the places of its tensors
/// in file order.
///
/// # Errors
/// The specification is invalid; those of the system.
pub fn begin(spec: FileSpec<'_>, (product, path): (&mut Product, &Path)) -> Result<(u64, Places), Error> {
    let schema = spec.metadata().into_iter().flatten().find(|(key, _)| *key == SCHEMA);
    check_structure(schema.map(|(_, schema)| *schema), spec.tensors().iter().map(TensorSpec::name))
        .map_err(|sentence| Error::about(path, sentence))?;
    planned(spec, true, path, |plan| {
        product.expect(plan.file_len());
        put_header(plan, |piece| product.put(piece))?;
        let start = plan.data_start();
        let places = plan.tensors().filter_map(|tensor| match tensor.content {
            PlannedContent::Tensor { index, .. } => Some((index, start + tensor.begin..start + tensor.end)),
            PlannedContent::Padding { .. } => None,
        });
        Ok((plan.file_len(), places.collect()))
    })
}

/// Writes the bytes that `make` produces for each tensor after the header, in any order if the output is a
/// file.
///
/// # Errors
/// Those of `make` and of the system; more or fewer bytes arrive than a tensor has.
pub fn fill(
    places: Places,
    (product, path): (&mut Product, &Path),
    mut make: impl FnMut(usize, Take<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let wrong =
        || Error::about(path, "internal error: the data of a tensor does not have the planned length");
    let mut at = places.iter().map(|(_, place)| place.start).min().unwrap_or(0);
    for (index, place) in places {
        if at != place.start {
            product.seek(place.start)?;
            at = place.start;
        }
        make(index, &mut |bytes| {
            at += bytes.len() as u64;
            if at > place.end { Err(wrong()) } else { product.put(bytes) }
        })?;
        if at != place.end {
            return Err(wrong());
        }
    }
    Ok(())
}

/// Checks that the metadata does not describe a nested structure of tensors that the output does not have.
///
/// # Errors
/// It does, and would lead its reader to nothing.
pub fn check_structure<'n>(schema: Option<&str>, names: impl Iterator<Item = &'n str>) -> Result<(), String> {
    let Some(structure) = schema.and_then(|schema| Structure::parse(schema).ok()) else { return Ok(()) };
    let names: HashSet<&str> = names.collect();
    let mut frames = [Frame::NONE; FRAMES];
    let mut walk = structure.walk(&mut frames);
    while let Ok(Some(event)) = walk.next() {
        if let Event::Value { value: Value::Tensor(name), .. } = event
            && !names.contains(&*name.to_string())
        {
            return Err(format!(
                "the nested structure in the metadata names tensor {}, which the output would not have; keep its \
                 name, or remove the structure: `safetensors pack --unset {SCHEMA} --unset {VERSION_KEY}`",
                quoted(&name.to_string())
            ));
        }
    }
    Ok(())
}

/// Reports an error of the specification with the tensor's name.
fn refusal(error: SpecError, tensors: &[TensorSpec<'_>], output: &Path) -> Error {
    let name = match error.part {
        SpecPart::Tensor(index) => tensors.get(index).map(TensorSpec::name),
        SpecPart::Key(_) | SpecPart::File => None,
    };
    let sentence = match (name.map(quoted), error.kind) {
        (Some(name), SpecErrorKind::Reserved) => {
            let file = if name == "\"__metadata__\"" { "" } else { " in a padded file" };
            format!("{name} is not allowed as a tensor name{file}")
        }
        (Some(name), kind) => format!("tensor {name}: {kind}"),
        (None, kind) => kind.to_string(),
    };
    Error::about(output, sentence)
}

/// Passes the header of a planned model to `put`, piece by piece.
///
/// # Errors
/// Those of `put`.
pub fn put_header<E>(plan: &FilePlan<'_>, mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let (mut encoder, mut buffer) = (plan.encoder(), [0; 8192]);
    loop {
        match encoder.encode(&mut buffer) {
            [] => return Ok(()),
            piece => put(piece)?,
        }
    }
}
