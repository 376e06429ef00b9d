//! The order of tensors and keys in a file.

use super::spec::{FileSpec, Placement, TensorSpec};
use crate::error::spec::{SpecError, SpecErrorKind, SpecPart};
use crate::util::heapsort::{Items, sort, swap};
use core::cmp::{Ordering, Reverse};

/// In which order tensors and keys stand in the file, as places in the arrays of the description. Empty: as they are there.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Order<'a> {
    pub(super) tensors: &'a [u32],
    pub(super) keys: &'a [u32],
}

impl Order<'_> {
    pub(super) const AS_GIVEN: Self = Self { tensors: &[], keys: &[] };
}

/// The place in the description of what is `position`-th in the file.
pub(super) fn place(order: &[u32], position: usize) -> usize {
    order.get(position).map_or(position, |place| *place as usize)
}

/// What is compared of a tensor: those with the larger number come first, of one number by their names.
fn rank(tensor: &TensorSpec<'_>, placement: Placement) -> (u32, crate::dtype::Dtype) {
    let size = match placement {
        // No bytes at all are any multiple.
        Placement::BySize(unit) => {
            tensor.byte_len().map_or(0, |len| len.trailing_zeros().min(unit.trailing_zeros()))
        }
        Placement::Start(_) | Placement::Padded(_) => 0,
    };
    (size, tensor.dtype())
}

/// Which of two tensors comes first in a file.
fn compare(a: &TensorSpec<'_>, b: &TensorSpec<'_>, placement: Placement) -> Ordering {
    let key = |tensor| Reverse(rank(tensor, placement));
    key(a).cmp(&key(b)).then_with(|| a.name().cmp(b.name()))
}

/// Whether the tensors and keys stand in the order of the file already, and no name and no key twice.
pub(super) fn verify(spec: &FileSpec<'_>) -> Result<(), SpecError> {
    in_order(spec.tensors, |a, b| compare(a, b, spec.placement)).map_err(|lack| lack.of_tensor())?;
    in_order(spec.metadata.unwrap_or(&[]), |a, b| a.0.cmp(b.0)).map_err(|lack| lack.of_key())?;
    unique_across(spec)
}

/// Something that does not come after what is in front of it.
struct Lack {
    at: usize,
    is_same: bool,
}

impl Lack {
    fn of_tensor(&self) -> SpecError {
        let other = self.at.wrapping_sub(1);
        let fault = if self.is_same { SpecErrorKind::NameTwice { other } } else { SpecErrorKind::OutOfOrder };
        fault.at(SpecPart::Tensor(self.at))
    }

    fn of_key(&self) -> SpecError {
        let other = self.at.wrapping_sub(1);
        let fault = if self.is_same { SpecErrorKind::KeyTwice { other } } else { SpecErrorKind::OutOfOrder };
        fault.at(SpecPart::Key(self.at))
    }
}

fn in_order<T>(items: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Result<(), Lack> {
    for (before, (one, other)) in items.iter().zip(items.iter().skip(1)).enumerate() {
        let order = compare(one, other);
        if order != Ordering::Less {
            return Err(Lack { at: before + 1, is_same: order == Ordering::Equal });
        }
    }
    Ok(())
}

/// Whether no two tensors that are not compared by their names have the same. All are in order, so those of one rank stand together,
/// and among them a name is looked for by halving.
fn unique_across(spec: &FileSpec<'_>) -> Result<(), SpecError> {
    let mut left = spec.tensors;
    while let [_, _, ..] = left {
        let (own, behind) = split_rank(left, spec.placement);
        let first = spec.tensors.len() - left.len();
        for (other, one) in (first..).zip(own) {
            if let Some(place) = place_of(one.name(), behind, spec.placement) {
                let index = first + own.len() + place;
                return Err(SpecErrorKind::NameTwice { other }.at(SpecPart::Tensor(index)));
            }
        }
        left = behind;
    }
    Ok(())
}

/// Where the first tensor of this name is.
fn place_of(name: &str, tensors: &[TensorSpec<'_>], placement: Placement) -> Option<usize> {
    let mut left = tensors;
    while let [_, ..] = left {
        let (own, behind) = split_rank(left, placement);
        if let Ok(place) = own.binary_search_by(|tensor| tensor.name().cmp(name)) {
            return Some(tensors.len() - left.len() + place);
        }
        left = behind;
    }
    None
}

/// The tensors of the first one's rank, and those behind them.
fn split_rank<'s, 'a>(
    tensors: &'s [TensorSpec<'a>],
    placement: Placement,
) -> (&'s [TensorSpec<'a>], &'s [TensorSpec<'a>]) {
    let first = tensors.first().map(|tensor| rank(tensor, placement));
    let len = tensors.partition_point(|tensor| Some(rank(tensor, placement)) == first);
    tensors.split_at_checked(len).unwrap_or((tensors, &[]))
}

/// Sorts tensors and keys in this memory.
pub(super) fn sorted<'a>(spec: &FileSpec<'_>, memory: &'a mut [u32]) -> Result<Order<'a>, SpecError> {
    unique(spec, memory)?;
    let (tensors, keys) = split(spec, memory)?;
    sort(&mut Sorting { order: tensors, compare: |a, b| compare_at(spec, a, b) });
    Ok(Order { tensors, keys })
}

/// Whether no name and no key is there twice. The keys are sorted then.
pub(super) fn unique(spec: &FileSpec<'_>, memory: &mut [u32]) -> Result<(), SpecError> {
    let (tensors, keys) = split(spec, memory)?;
    let name = |place: u32| spec.tensors.get(place as usize).map_or("", TensorSpec::name);
    let key = |place: u32| spec.metadata.unwrap_or(&[]).get(place as usize).map_or("", |pair| pair.0);
    if let Some((other, index)) = sort_and_find_twins(tensors, name) {
        return Err(SpecErrorKind::NameTwice { other }.at(SpecPart::Tensor(index)));
    }
    if let Some((other, index)) = sort_and_find_twins(keys, key) {
        return Err(SpecErrorKind::KeyTwice { other }.at(SpecPart::Key(index)));
    }
    Ok(())
}

/// The places of two that have the same text.
fn sort_and_find_twins<'t>(order: &mut [u32], text: impl Fn(u32) -> &'t str) -> Option<(usize, usize)> {
    for (place, slot) in (0..).zip(order.iter_mut()) {
        *slot = place;
    }
    let by_text = |a: u32, b: u32| text(a).cmp(text(b)).then(a.cmp(&b));
    sort(&mut Sorting { order, compare: by_text });
    let twins = order.iter().zip(order.iter().skip(1)).find(|(a, b)| text(**a) == text(**b));
    twins.map(|(a, b)| (*a as usize, *b as usize))
}

/// The memory for the order of the tensors, and that for the order of the keys.
fn split<'m>(
    spec: &FileSpec<'_>,
    memory: &'m mut [u32],
) -> Result<(&'m mut [u32], &'m mut [u32]), SpecError> {
    let (tensors, keys) = (spec.tensors.len(), spec.metadata.map_or(0, <[_]>::len));
    let (needed, capacity) = (tensors.saturating_add(keys), memory.len());
    let room = memory.get_mut(..needed).and_then(|memory| memory.split_at_mut_checked(tensors));
    room.ok_or_else(|| SpecErrorKind::OrderMemory { needed, capacity }.at(SpecPart::File))
}

fn compare_at(spec: &FileSpec<'_>, a: u32, b: u32) -> Ordering {
    match (spec.tensors.get(a as usize), spec.tensors.get(b as usize)) {
        (Some(a), Some(b)) => compare(a, b, spec.placement),
        _ => Ordering::Equal,
    }
}

struct Sorting<'m, F> {
    order: &'m mut [u32],
    compare: F,
}

impl<F: Fn(u32, u32) -> Ordering> Items for Sorting<'_, F> {
    fn count(&self) -> usize {
        self.order.len()
    }

    fn is_below(&self, a: usize, b: usize) -> bool {
        match (self.order.get(a), self.order.get(b)) {
            (Some(a), Some(b)) => (self.compare)(*a, *b) == Ordering::Less,
            _ => false,
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        swap(self.order, a, b);
    }
}
