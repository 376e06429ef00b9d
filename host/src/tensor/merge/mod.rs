//! Merges models: adds the products of LoRAs to a base, or averages models.

mod lora;

pub use lora::{is_lora, loras};

use crate::context::Context;
use crate::error::Error;
use crate::input::model::{Model, Tensor, bytes_of};
use crate::output::writer::Take;
use crate::tensor::slice::Sliced;
use crate::tensor::sums::sums_of;
use crate::text::{counted, quoted, shown_path};
use crate::work::Work;
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::{Caster, Decoder, can_be_target, is_float};
use std::mem::take;

/// The most elements of a block: 2 MiB of numbers.
const BLOCK: u64 = 1 << 18;

/// Sums that replace the tensors of the first model.
pub struct Merged<'m> {
    /// What the numbers of each averaged model are multiplied with; empty if LoRAs are added.
    pub weights: Vec<f64>,
    /// What each sum is divided by.
    pub divisor: f64,
    /// What is added to each tensor of the first model: nothing if it is copied.
    pub terms: Vec<Vec<Term<'m>>>,
}

/// A tensor of another model, or the first matrix of a pair, whose product is added.
pub struct Term<'m> {
    pub factor: f64,
    pub tensor: Tensor<'m>,
    /// The second matrix of the pair.
    up: Option<Tensor<'m>>,
}

/// Whole rows of a tensor, or a part of a row: the first one and their number.
#[derive(Clone, Copy)]
struct Block {
    rows: (u64, u64),
    columns: (u64, u64),
    /// The columns of the tensor.
    width: u64,
}

/// Averages models with the same tensors; without weights, all are equal.
///
/// # Errors
/// A model has another tensor, another shape, or a dtype that cannot be averaged; tensors that are not
/// averaged differ; a model cannot be read; interruption by the user.
pub fn average<'m>(
    context: &Context,
    models: &'m [Model],
    firsts: &[Tensor<'m>],
    weights: &[f64],
) -> Result<Merged<'m>, Error> {
    let (count, equal) = (models.len(), weights.is_empty());
    let weights = if equal { vec![1.0; count] } else { weights.to_vec() };
    let (base, mut terms) = (&models[0], firsts.iter().map(|_| Vec::new()).collect::<Vec<_>>());
    firsts.iter().try_for_each(|first| check_plain(base, first))?;
    for (other, &factor) in models.iter().zip(&weights).skip(1) {
        let more = other.without_padding()?.0.into_iter().find(|tensor| base.find(tensor.name()).is_none());
        if let Some(more) = more {
            return Err(about(&more, &format!("{} has no such tensor", shown_path(base.path()))));
        }
        for (first, terms) in firsts.iter().zip(&mut terms) {
            let tensor = other.tensor(first.name())?;
            check_alike(first, &tensor)?;
            check_plain(other, &tensor)?;
            terms.push(Term { factor, tensor, up: None });
        }
    }
    let copied = firsts.iter().zip(&mut terms).filter(|(first, _)| !can_be_merged(first.dtype()));
    let rows = copied.map(|(first, terms)| (*first, take(terms).into_iter().map(|term| term.tensor)));
    let copied: Vec<_> = rows.flat_map(|(first, others)| [first].into_iter().chain(others)).collect();
    let sums = sums_of(&copied, &context.work("comparing", bytes_of(&copied)))?;
    for (row, sums) in copied.chunks(count).zip(sums.chunks(count)) {
        if let Some((other, _)) = row.iter().zip(sums).find(|(_, sum)| **sum != sums[0]) {
            let (dtype, file) = (other.dtype(), shown_path(row[0].model().path()));
            return Err(about(other, &format!("{dtype} is not averaged, and its values differ from {file}")));
        }
    }
    Ok(Merged { weights, divisor: if equal { count as f64 } else { 1.0 }, terms })
}

/// # Errors
/// The tensors cannot be averaged.
fn check_alike(first: &Tensor<'_>, other: &Tensor<'_>) -> Result<(), Error> {
    let is_number = |tensor: &Tensor<'_>| can_be_merged(tensor.dtype());
    let has_dtype = first.dtype() == other.dtype() || is_number(first) && is_number(other);
    if has_dtype && first.dims() == other.dims() {
        return Ok(());
    }
    let shown = |tensor: &Tensor<'_>| format!("{} {:?}", tensor.dtype(), tensor.dims());
    let (file, why) = (shown_path(first.model().path()), "shapes must be equal, and dtypes, but for floats");
    Err(about(other, &format!("is {}, but in {file} {}: {why}", shown(other), shown(first))))
}

/// Whether numbers of this dtype are merged: floats of whole bytes.
fn can_be_merged(dtype: Dtype) -> bool {
    is_float(dtype) && can_be_target(dtype)
}

/// # Errors
/// The model has scales for the elements of a tensor.
fn check_plain(model: &Model, tensor: &Tensor<'_>) -> Result<(), Error> {
    if !can_be_merged(tensor.dtype()) || tensor.dtype().bits() > 8 {
        return Ok(());
    }
    let name = tensor.name();
    let layer = name.strip_suffix(".weight").unwrap_or(name);
    let of_tensor = ["_scale", "_scale_inv", ".scale"].map(|end| format!("{name}{end}"));
    let of_layer = [".scale", ".scale_weight"].map(|end| format!("{layer}{end}"));
    let mut names = of_tensor.iter().chain(&of_layer);
    let Some(scales) = names.find(|name| model.find(name).is_some()) else { return Ok(()) };
    let (dtype, scales) = (tensor.dtype(), quoted(scales));
    Err(about(tensor, &format!("its {dtype} numbers have scales, {scales}: only plain numbers are merged")))
}

impl Merged<'_> {
    /// Passes the bytes of a tensor of the first model, which has this index, to `take`.
    ///
    /// # Errors
    /// A number is too large for the dtype; those of `take` and of the files; interruption by the user.
    pub fn make(
        &self,
        base: &Model,
        (index, tensor): (usize, &Tensor<'_>),
        work: &Work,
        take: Take<'_>,
    ) -> Result<(), Error> {
        let (terms, dtype) = (&self.terms[index], tensor.dtype());
        // Numbers that are too large are counted.
        let caster = Caster::new(Dtype::F64, dtype, true).filter(|_| !terms.is_empty());
        let Some(mut caster) = caster else { return Sliced::whole(base, *tensor).bytes(work, take) };
        // A tensor without elements can have any number of rows.
        let rows = tensor.dims().first().copied().unwrap_or(1).min(tensor.elements());
        let width = tensor.elements().checked_div(rows).unwrap_or(0);
        let widest = terms.iter().filter_map(Term::pair).fold(width.max(1), |most, (_, rank)| most.max(rank));
        let mut elements = Vec::new();
        for rows in parts(rows, (BLOCK / widest).max(1)) {
            for columns in parts(width, BLOCK) {
                let (sums, infinite) = self.sums(tensor, terms, Block { rows, columns, width })?;
                let bytes: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
                let report = caster.cast(&bytes, &mut elements);
                let report = report.map_err(|error| about(tensor, &error.to_string()))?;
                if infinite + report.clamped > 0 {
                    let count = counted(infinite + report.clamped, "merged number");
                    let sentence = format!("{count} too large for {dtype}: is the scale right?");
                    return Err(about(tensor, &sentence));
                }
                take(&elements)?;
                work.advance(elements.len() as u64)?;
            }
        }
        Ok(())
    }

    /// Computes the sums in a block, and counts those of finite numbers that are not finite.
    fn sums(&self, first: &Tensor<'_>, terms: &[Term<'_>], block: Block) -> Result<(Vec<f64>, u64), Error> {
        let (mut sums, weight) = (block.read(first)?, self.weights.first().copied().unwrap_or(1.0));
        let mut finite: Vec<bool> = sums.iter().map(|number| number.is_finite()).collect();
        sums.iter_mut().for_each(|sum| *sum *= weight);
        for term in terms {
            let numbers = term.numbers(block)?;
            for ((sum, finite), number) in sums.iter_mut().zip(&mut finite).zip(numbers) {
                *sum += term.factor * number;
                *finite &= number.is_finite();
            }
        }
        let mut infinite = 0;
        for (sum, finite) in sums.iter_mut().zip(finite) {
            *sum /= self.divisor;
            if finite && !sum.is_finite() {
                (*sum, infinite) = (0.0, infinite + 1);
            }
        }
        Ok((sums, infinite))
    }
}

impl Block {
    /// Reads the numbers of a tensor with these columns.
    fn read(self, tensor: &Tensor<'_>) -> Result<Vec<f64>, Error> {
        let Self { rows: (row, rows), columns: (column, columns), width } = self;
        numbers(tensor, row * width + column, rows * columns)
    }
}

/// Reads elements as numbers, from this one on.
fn numbers(tensor: &Tensor<'_>, first: u64, count: u64) -> Result<Vec<f64>, Error> {
    let size = u64::from(tensor.dtype().bits() / 8);
    let (mut bytes, mut numbers) = (vec![0; length(count * size)], Vec::new());
    let read = tensor.reader().read_at(first * size, &mut bytes);
    read.map_err(|error| Error::not_read(tensor.model().path(), error))?;
    let decoded = Decoder::new(tensor.dtype()).decode_doubles(&bytes, &mut numbers);
    decoded.map_err(|error| about(tensor, &error.to_string()))?;
    Ok(numbers)
}

/// Parts of at most so many items: the first item of each, and their number.
fn parts(len: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..len.div_ceil(most)).map(move |part| (part * most, most.min(len - part * most)))
}

/// The length of a part of a block in memory.
fn length(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}

/// An error about a tensor, in its own file.
fn about(tensor: &Tensor<'_>, sentence: &str) -> Error {
    crate::tensor::slice::about(tensor.model().path(), tensor, sentence)
}
