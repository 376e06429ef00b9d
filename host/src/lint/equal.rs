//! Tensors with the same contents.

use crate::context::Context;
use crate::error::Error;
use crate::input::model::{Tensor, bytes_of};
use crate::lint::finding::{Code, Finding};
use crate::tensor::sums::sums_of;
use crate::text::{grouped, human, listed, quoted};
use crate::work::Work;
use std::collections::HashMap;

/// Smaller tensors are often equal, and waste nothing.
const LEAST: u64 = 4096;
/// The most names in a message.
const NAMED: usize = 4;
/// Bytes read at a time: complete elements of every dtype.
const BUFFER: usize = 3 << 13;

/// A finding about the second tensor of each group of equal ones of the same dtype and shape. Constant ones
/// are equal by chance, such as the biases of a new model. Reads tensors whose dtype and shape others have.
///
/// # Errors
/// A file cannot be read; the user has interrupted the work.
pub fn findings<'m>(context: &Context, tensors: &[Tensor<'m>]) -> Result<Vec<(Tensor<'m>, Finding)>, Error> {
    let form = |tensor: &Tensor<'m>| (tensor.dtype(), tensor.dims());
    let large = tensors.iter().copied().filter(|tensor| tensor.byte_len() >= LEAST);
    let mut counts = HashMap::<_, u64>::new();
    large.clone().for_each(|tensor| *counts.entry(form(&tensor)).or_default() += 1);
    let alike: Vec<_> = large.filter(|tensor| counts[&form(tensor)] > 1).collect();
    let work = context.work("hashing", bytes_of(&alike));
    let mut groups = HashMap::<_, Vec<usize>>::new();
    for (index, sum) in sums_of(&alike, &work)?.into_iter().enumerate() {
        groups.entry((form(&alike[index]), sum)).or_default().push(index);
    }
    let mut groups: Vec<_> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    let mut found = Vec::new();
    for group in groups {
        let group: Vec<_> = group.into_iter().map(|index| alike[index]).collect();
        if !is_constant(&group[0], &work)? {
            found.push((group[1], finding(&group)));
        }
    }
    Ok(found)
}

/// Whether all elements are equal. Reads up to the first that is not.
fn is_constant(tensor: &Tensor<'_>, work: &Work) -> Result<bool, Error> {
    // Four elements of F6 fill three bytes.
    let unit = if tensor.dtype().bits() == 6 { 3 } else { usize::from(tensor.dtype().bits()).div_ceil(8) };
    let (mut reader, mut buffer, mut first) = (tensor.reader(), vec![0; BUFFER], Vec::new());
    let not_read = |error| Error::not_read(tensor.model().path(), error);
    while let Some(piece) = reader.next_chunk(&mut buffer).map_err(not_read)? {
        work.check()?;
        if first.is_empty() {
            first.extend(piece.iter().take(unit));
        }
        if !piece.starts_with(&first) || piece[unit..] != piece[..piece.len() - unit] {
            return Ok(false);
        }
    }
    Ok(true)
}

/// About the second tensor of a group.
fn finding(group: &[Tensor<'_>]) -> Finding {
    let second = &group[1];
    let others = group.len() as u64 - 1;
    let wasted = second.byte_len().saturating_mul(others);
    let names = listed(group.iter().map(|tensor| quoted(tensor.name())), NAMED, others + 1);
    let (count, wasted) = (grouped(others + 1), human(wasted));
    let message = format!("{count} equal tensors, which waste {wasted}: {names}");
    Finding::new(Code::Duplicate, second.in_file().start, Some(second.name()), message)
}
