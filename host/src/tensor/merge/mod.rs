//! Merges models: adds the pairs of LoRAs to a base, or averages models.

mod average;
mod blocks;
mod lora;

pub use average::Average;
pub use lora::{Pair, is_lora, pairs_of};

use crate::error::Error;
use crate::input::model::{Model, Tensor};
use crate::output::writer::Take;
use crate::tensor::slice::Sliced;
use crate::work::Work;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{can_be_target, is_float};

/// What is merged into the tensors of the first model.
pub enum Merged<'m> {
    /// The pairs of each tensor.
    Loras(Vec<Vec<Pair<'m>>>),
    Average(Average<'m>),
}

impl Merged<'_> {
    /// Passes the bytes of a tensor of the first model, which has this index, to `take`.
    ///
    /// # Errors
    /// A number is too large for the dtype; integers differ; those of `take` and of the files; interruption
    /// by the user.
    pub fn make(
        &self,
        base: &Model,
        (index, tensor): (usize, &Tensor<'_>),
        work: &Work,
        take: Take<'_>,
    ) -> Result<(), Error> {
        match self {
            Self::Loras(all) if all[index].is_empty() => Sliced::whole(base, *tensor).bytes(work, take),
            Self::Loras(all) => lora::add(tensor, &all[index], work, take),
            Self::Average(average) => average.make(index, work, take),
        }
    }
}

/// Whether numbers of this dtype are merged: floats of whole bytes.
pub fn can_be_merged(dtype: Dtype) -> bool {
    is_float(dtype) && can_be_target(dtype)
}

/// An error about a tensor, in its own file.
fn about(tensor: &Tensor<'_>, sentence: &str) -> Error {
    crate::tensor::slice::about(tensor.model().path(), tensor, sentence)
}
