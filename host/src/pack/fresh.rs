//! A model whose tensors are made as they are written.

use super::write::{put_header, refusal};
use crate::complaint::Complaint;
use crate::product::Product;
use embedded_safetensors::write::{FileSpec, PlannedContent, TensorSpec};
use std::ops::Range;
use std::path::Path;

/// The header of a new model is in its product; its tensors follow, in any order where the product is a file.
pub struct Fresh<'p> {
    product: &'p mut Product,
    path: &'p Path,
    data_start: u64,
    file_len: u64,
    /// In the order of the file: which tensor of the description, and where its data are.
    places: Vec<(usize, Range<u64>)>,
    /// Where the next byte goes.
    at: u64,
}

impl<'p> Fresh<'p> {
    /// Begins a model in this product.
    ///
    /// # Errors
    /// There can be no such file; those of the system.
    pub fn begin(
        spec: FileSpec<'_>,
        (product, path): (&'p mut Product, &'p Path),
    ) -> Result<Self, Complaint> {
        let mut memory = vec![0; spec.tensors().len() + spec.metadata().map_or(0, <[_]>::len)];
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

    /// How long the file is to be.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }

    /// In the order of the file: which tensor of the description, and where its data are.
    pub fn places(&self) -> Vec<(usize, Range<u64>)> {
        self.places.clone()
    }

    /// Has `fill` give all bytes of a tensor whose place this is.
    ///
    /// # Errors
    /// Those of `fill` and of the system; more bytes come, or less, than the tensor has.
    pub fn tensor<R>(
        &mut self,
        place: &Range<u64>,
        fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Complaint>) -> Result<R, Complaint>,
    ) -> Result<R, Complaint> {
        let wrong = || Complaint::about(self.path, "a tensor for it has another length than it should");
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
