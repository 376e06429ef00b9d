//! Tensors with the same contents.

use crate::context::Context;
use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::model::{Tensor, bytes_of, threads_for};
use crate::input::source::pieces;
use crate::lint::finding::{Code, Finding};
use crate::tensor::sums::sum_of_tensor;
use crate::text::{grouped, human, quoted};
use crate::threads::in_order;
use crate::work::Work;
use embedded_safetensors::Dtype;
use std::collections::HashMap;

/// Smaller tensors are often equal, and waste nothing.
const LEAST: u64 = 4096;
/// The most names in a message.
const NAMED: usize = 4;
/// Bytes read at a time.
const BUFFER: usize = 32 << 10;

/// A finding about the second tensor of each group of equal ones of the same dtype and shape, but constant
/// ones, which are equal by chance: those of a new model's biases, for example. Reads those of which there
/// are several.
///
/// # Errors
/// A file cannot be read; the user has interrupted the work.
pub fn findings<'m>(context: &Context, tensors: &[Tensor<'m>]) -> Result<Vec<(Tensor<'m>, Finding)>, Error> {
    let mut by_form: HashMap<(Dtype, &[u64]), Vec<usize>> = HashMap::new();
    for (index, tensor) in tensors.iter().enumerate().filter(|(_, tensor)| tensor.byte_len() >= LEAST) {
        by_form.entry((tensor.dtype(), tensor.dims())).or_default().push(index);
    }
    let mut alike: Vec<usize> = by_form.into_values().filter(|group| group.len() > 1).flatten().collect();
    alike.sort_unstable();
    let work =
        context.work("hashing", bytes_of(&alike.iter().map(|&index| tensors[index]).collect::<Vec<_>>()));
    let mut groups: HashMap<(Dtype, &[u64], String), Vec<usize>> = HashMap::new();
    let mut next = alike.iter();
    in_order(
        &alike,
        threads_for(tensors),
        |&index| sum_of_tensor(&tensors[index], &work),
        |sum| {
            if let Some(&index) = next.next() {
                groups.entry((tensors[index].dtype(), tensors[index].dims(), sum?)).or_default().push(index);
            }
            Ok::<_, Error>(())
        },
    )?;
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    let mut found = Vec::new();
    for group in groups {
        if !is_constant(&tensors[group[0]], &work)? {
            found.push((tensors[group[1]], finding(tensors, &group)));
        }
    }
    Ok(found)
}

/// Why a tensor is not read to its end.
enum Stop {
    Differs,
    Read(NotRead),
    Interrupted(Error),
}

impl From<NotRead> for Stop {
    fn from(reason: NotRead) -> Self {
        Self::Read(reason)
    }
}

/// Whether all elements are equal. Reads up to the first that is not.
fn is_constant(tensor: &Tensor<'_>, work: &Work) -> Result<bool, Error> {
    let (part, start) = (tensor.model(), tensor.model().index().summary().data_start);
    let (from, to) = (start + tensor.begin(), start + tensor.end());
    // Four elements of F6 fill three bytes.
    let unit = if tensor.dtype().bits() == 6 { 3 } else { usize::from(tensor.dtype().bits()).div_ceil(8) };
    let mut seen = Vec::new();
    let read = pieces(part.reader().until(to), from..to, &mut [0; BUFFER], |piece| {
        work.advance(0).map_err(Stop::Interrupted)?;
        seen.extend_from_slice(piece);
        let before = seen.len().saturating_sub(unit);
        if seen.get(unit..).is_some_and(|after| after != &seen[..before]) {
            return Err(Stop::Differs);
        }
        seen.drain(..before);
        Ok(())
    });
    match read {
        Ok(()) => Ok(true),
        Err(Stop::Differs) => Ok(false),
        Err(Stop::Read(reason)) => Err(Error::not_read(part.path(), reason)),
        Err(Stop::Interrupted(complaint)) => Err(complaint),
    }
}

/// About the second tensor of a group.
fn finding(tensors: &[Tensor<'_>], group: &[usize]) -> Finding {
    let second = &tensors[group[1]];
    let others = group.len() as u64 - 1;
    let wasted = second.byte_len().saturating_mul(others);
    let names: Vec<String> = group.iter().take(NAMED).map(|&index| quoted(tensors[index].name())).collect();
    let more = group.len().saturating_sub(NAMED) as u64;
    let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
    let message = format!(
        "{} equal tensors, which waste {}: {}{more}",
        grouped(others + 1),
        human(wasted),
        names.join(", ")
    );
    let at = second.model().index().summary().data_start + second.begin();
    Finding::of(Code::Duplicate, at, second.name(), message)
}
