//! The weighted sum of models with the same tensors.

use super::blocks::{BLOCK, Blocks, Rounded, parts};
use super::{about, can_be_merged};
use crate::error::Error;
use crate::input::model::{Model, Tensor};
use crate::output::writer::Take;
use crate::text::shown_path;
use crate::work::Work;

/// What the numbers of each model are multiplied with, and what their sum is divided by.
pub struct Average<'m> {
    pub weights: Vec<f64>,
    pub divisor: f64,
    /// Each tensor of the first model, with those of the others.
    tensors: Vec<Vec<Tensor<'m>>>,
}

impl<'m> Average<'m> {
    /// Without weights, all are equal.
    ///
    /// # Errors
    /// A model has another tensor, another shape, or a dtype that cannot be averaged.
    pub fn of(models: &'m [Model], firsts: &[Tensor<'m>], weights: &[f64]) -> Result<Self, Error> {
        let mut tensors: Vec<_> = firsts.iter().map(|first| vec![*first]).collect();
        for other in &models[1..] {
            check_names(firsts, other)?;
            check_names(&other.without_padding()?.0, &models[0])?;
            for row in &mut tensors {
                let second = other.tensor(row[0].name())?;
                check(&row[0], &second)?;
                row.push(second);
            }
        }
        let equal = weights.is_empty();
        let weights = if equal { vec![1.0; models.len()] } else { weights.to_vec() };
        Ok(Self { weights, divisor: if equal { models.len() as f64 } else { 1.0 }, tensors })
    }

    /// Passes the bytes of a tensor to `take`.
    pub(super) fn make(&self, index: usize, work: &Work, take: Take<'_>) -> Result<(), Error> {
        let mut blocks: Vec<_> = self.tensors[index].iter().copied().map(Blocks::of).collect();
        let first = self.tensors[index][0];
        if !can_be_merged(first.dtype()) {
            return self.copy(index, &mut blocks, work, take);
        }
        let mut rounded = Rounded::of(first)?;
        for (at, count) in parts(first.elements(), BLOCK) {
            let mut sum: Option<Vec<f64>> = None;
            for (blocks, weight) in blocks.iter_mut().zip(&self.weights) {
                let numbers = blocks.numbers(at, count)?;
                numbers.iter_mut().for_each(|number| *number *= weight);
                match &mut sum {
                    Some(sum) => sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += *number),
                    None => sum = Some(numbers.to_vec()),
                }
            }
            let mut sum = sum.unwrap_or_default();
            sum.iter_mut().for_each(|sum| *sum /= self.divisor);
            rounded.give(&sum, work, take)?;
        }
        Ok(())
    }

    /// Passes on what is equal in all models.
    fn copy(
        &self,
        index: usize,
        blocks: &mut [Blocks<'_>],
        work: &Work,
        take: Take<'_>,
    ) -> Result<(), Error> {
        let row = &self.tensors[index];
        for (at, count) in parts(row[0].byte_len(), BLOCK) {
            let bytes = blocks[0].bytes(at, count)?.to_vec();
            for (other, tensor) in blocks.iter_mut().zip(row) {
                if other.bytes(at, count)? != bytes {
                    let (dtype, file) = (tensor.dtype(), shown_path(row[0].model().path()));
                    let sentence = format!("{dtype} is not averaged, and its values differ from {file}");
                    return Err(about(tensor, &sentence));
                }
            }
            take(&bytes)?;
            work.advance(count)?;
        }
        Ok(())
    }
}

/// # Errors
/// A model lacks one of these tensors.
fn check_names(tensors: &[Tensor<'_>], other: &Model) -> Result<(), Error> {
    let lost = tensors.iter().find(|tensor| other.find(tensor.name()).is_none());
    lost.map_or(Ok(()), |lost| Err(about(lost, &format!("{} has no such tensor", shown_path(other.path())))))
}

/// # Errors
/// The tensors cannot be averaged.
fn check(first: &Tensor<'_>, other: &Tensor<'_>) -> Result<(), Error> {
    let is_number = |tensor: &Tensor<'_>| can_be_merged(tensor.dtype());
    let has_dtype = first.dtype() == other.dtype() || is_number(first) && is_number(other);
    if has_dtype && first.dims() == other.dims() {
        return Ok(());
    }
    let shown = |tensor: &Tensor<'_>| format!("{} {:?}", tensor.dtype(), tensor.dims());
    let (file, why) = (shown_path(first.model().path()), "shapes must be equal, and dtypes, but for floats");
    Err(about(other, &format!("is {}, but in {file} {}: {why}", shown(other), shown(first))))
}
