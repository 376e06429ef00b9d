//! A model whose tensors are produced while it is written.

use crate::error::Error;
use crate::output::file::Product;
use crate::text::quoted;
use embedded_safetensors::write::{
    FilePlan, FileSpec, PlannedContent, SpecError, SpecErrorKind, SpecPart, TensorSpec,
};
use std::ops::Range;
use std::path::Path;

/// The length of a model of this specification.
///
/// # Errors
/// The specification is invalid.
pub fn planned_len(spec: FileSpec<'_>, path: &Path) -> Result<u64, Error> {
    let mut memory = memory_for(&spec);
    let name = |index: usize| spec.tensors().get(index).map(TensorSpec::name);
    let plan = spec.plan_sorted(&mut memory).map_err(|error| refusal(error, &name, path))?;
    Ok(plan.file_len())
}

/// The memory for sorting tensors and keys.
fn memory_for(spec: &FileSpec<'_>) -> Vec<u32> {
    vec![0; spec.tensors().len() + spec.metadata().map_or(0, <[_]>::len)]
}

/// A new model whose header is written. Its tensors follow, in any order if the output is a file.
pub struct Fresh<'p> {
    product: &'p mut Product,
    path: &'p Path,
    data_start: u64,
    file_len: u64,
    /// In file order: the index of the tensor in the specification, and the range of its data.
    places: Vec<(usize, Range<u64>)>,
    /// The offset of the next byte.
    at: u64,
}

impl<'p> Fresh<'p> {
    /// Begins a model in this output.
    ///
    /// # Errors
    /// The specification is invalid; those of the system.
    pub fn begin(spec: FileSpec<'_>, (product, path): (&'p mut Product, &'p Path)) -> Result<Self, Error> {
        let mut memory = memory_for(&spec);
        let name = |index: usize| spec.tensors().get(index).map(TensorSpec::name);
        let plan = spec.plan_sorted(&mut memory).map_err(|error| refusal(error, &name, path))?;
        put_header(&plan, product)?;
        let places = plan.tensors().filter_map(|tensor| match tensor.content {
            PlannedContent::Tensor { index, .. } => Some((index, tensor.begin..tensor.end)),
            PlannedContent::Padding { .. } => None,
        });
        let (data_start, file_len, places) = (plan.data_start(), plan.file_len(), places.collect());
        Ok(Self { product, path, data_start, file_len, places, at: data_start })
    }

    /// The length of the complete file.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }

    /// Takes the places of all tensors, in file order: the index of the tensor in the specification, and the
    /// range of its data.
    pub fn take_places(&mut self) -> Vec<(usize, Range<u64>)> {
        std::mem::take(&mut self.places)
    }

    /// Writes the bytes that `fill` produces for the tensor at this range.
    ///
    /// # Errors
    /// Those of `fill` and of the system; more or fewer bytes arrive than the tensor has.
    pub fn tensor<R>(
        &mut self,
        place: &Range<u64>,
        fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let wrong = || {
            Error::about(self.path, "internal error: the data of a tensor does not have the planned length")
        };
        let (begin, end) = (self.data_start + place.start, self.data_start + place.end);
        if self.at != begin {
            self.product.seek(begin)?;
            self.at = begin;
        }
        let (product, at) = (&mut *self.product, &mut self.at);
        let filled = fill(&mut |bytes| {
            *at += bytes.len() as u64;
            if *at > end { Err(wrong()) } else { product.put(bytes) }
        })?;
        if self.at == end { Ok(filled) } else { Err(wrong()) }
    }
}

/// Reports an error of the specification with the tensor's name, which `name` looks up.
pub fn refusal<'n>(error: SpecError, name: &dyn Fn(usize) -> Option<&'n str>, output: &Path) -> Error {
    let name = match error.part {
        SpecPart::Tensor(index) => name(index).map(quoted),
        SpecPart::Key(_) | SpecPart::File => None,
    };
    let sentence = match (name, error.kind) {
        (Some(name), SpecErrorKind::Reserved) if name == "\"__metadata__\"" => {
            format!("{name} is not allowed as a tensor name")
        }
        (Some(name), SpecErrorKind::Reserved) => {
            format!("{name} is not allowed as a tensor name in a padded file")
        }
        (Some(name), fault) => format!("tensor {name}: {fault}"),
        (None, fault) => fault.to_string(),
    };
    Error::about(output, sentence)
}

pub fn put_header(plan: &FilePlan<'_>, product: &mut Product) -> Result<(), Error> {
    product.expect(plan.file_len());
    let (mut encoder, mut buffer) = (plan.encoder(), [0; 8192]);
    loop {
        match encoder.encode(&mut buffer) {
            [] => return Ok(()),
            piece => product.put(piece)?,
        }
    }
}
