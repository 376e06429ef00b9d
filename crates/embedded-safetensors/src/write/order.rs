//! Determines and checks the order of tensors and keys in a file.

use super::spec::{FileSpec, Placement, TensorSpec};
use crate::error::spec::{SpecError, SpecErrorKind, SpecPart};
use crate::util::heapsort::{Items, sort, swap};
use core::cmp::{Ordering, Reverse};

/// The order of tensors and keys in the file, as indices into the arrays of the description. Empty: the order
/// of the description.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Order<'a> {
    pub(super) tensors: &'a [u32],
    pub(super) keys: &'a [u32],
}

impl Order<'_> {
    pub(super) const AS_GIVEN: Self = Self { tensors: &[], keys: &[] };
}

/// Returns the index in the description of the item at `position` in the file.
pub(super) fn index_at(order: &[u32], position: usize) -> usize {
    order.get(position).map_or(position, |index| *index as usize)
}

/// Returns the rank of a tensor: higher ranks come first, equal ranks are sorted by name.
fn rank(tensor: &TensorSpec<'_>, placement: Placement) -> (u32, crate::dtype::Dtype) {
    let size = match placement {
        // A length of 0 is a multiple of everything.
        Placement::BySize(unit) => {
            tensor.byte_len().map_or(0, |len| len.trailing_zeros().min(unit.trailing_zeros()))
        }
        Placement::Start(_) | Placement::Padded(_) => 0,
    };
    (size, tensor.dtype())
}

/// Compares two tensors by their order in a file.
fn compare(a: &TensorSpec<'_>, b: &TensorSpec<'_>, placement: Placement) -> Ordering {
    let key = |tensor| Reverse(rank(tensor, placement));
    key(a).cmp(&key(b)).then_with(|| a.name().cmp(b.name()))
}

/// Checks that the tensors and keys are already in the order of the file, without duplicates.
pub(super) fn verify(spec: &FileSpec<'_>) -> Result<(), SpecError> {
    in_order(spec.tensors, |a, b| compare(a, b, spec.placement))
        .map_err(|violation| violation.of_tensor())?;
    in_order(spec.metadata.unwrap_or(&[]), |a, b| a.0.cmp(b.0)).map_err(|violation| violation.of_key())?;
    unique_across(spec)
}

/// An item that is not greater than the one before it.
struct Violation {
    at: usize,
    is_same: bool,
}

impl Violation {
    fn of_tensor(&self) -> SpecError {
        let other = self.at.wrapping_sub(1);
        let kind =
            if self.is_same { SpecErrorKind::DuplicateName { other } } else { SpecErrorKind::OutOfOrder };
        kind.at(SpecPart::Tensor(self.at))
    }

    fn of_key(&self) -> SpecError {
        let other = self.at.wrapping_sub(1);
        let kind =
            if self.is_same { SpecErrorKind::DuplicateKey { other } } else { SpecErrorKind::OutOfOrder };
        kind.at(SpecPart::Key(self.at))
    }
}

fn in_order<T>(items: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Result<(), Violation> {
    for (before, (one, other)) in items.iter().zip(items.iter().skip(1)).enumerate() {
        let order = compare(one, other);
        if order != Ordering::Less {
            return Err(Violation { at: before + 1, is_same: order == Ordering::Equal });
        }
    }
    Ok(())
}

/// Checks for duplicate names among tensors of different ranks. All tensors are in order, so those of one
/// rank are adjacent and sorted by name, and a binary search finds a name among them.
fn unique_across(spec: &FileSpec<'_>) -> Result<(), SpecError> {
    let mut left = spec.tensors;
    while let [_, _, ..] = left {
        let (own, rest) = split_rank(left, spec.placement);
        let first = spec.tensors.len() - left.len();
        for (other, one) in (first..).zip(own) {
            if let Some(found) = index_of(one.name(), rest, spec.placement) {
                let index = first + own.len() + found;
                return Err(SpecErrorKind::DuplicateName { other }.at(SpecPart::Tensor(index)));
            }
        }
        left = rest;
    }
    Ok(())
}

/// Returns the index of the first tensor of this name.
fn index_of(name: &str, tensors: &[TensorSpec<'_>], placement: Placement) -> Option<usize> {
    let mut left = tensors;
    while let [_, ..] = left {
        let (own, rest) = split_rank(left, placement);
        if let Ok(found) = own.binary_search_by(|tensor| tensor.name().cmp(name)) {
            return Some(tensors.len() - left.len() + found);
        }
        left = rest;
    }
    None
}

/// Splits tensors into those of the first one's rank and the rest.
fn split_rank<'s, 'a>(
    tensors: &'s [TensorSpec<'a>],
    placement: Placement,
) -> (&'s [TensorSpec<'a>], &'s [TensorSpec<'a>]) {
    let first = tensors.first().map(|tensor| rank(tensor, placement));
    let len = tensors.partition_point(|tensor| Some(rank(tensor, placement)) == first);
    tensors.split_at_checked(len).unwrap_or((tensors, &[]))
}

/// Sorts tensors and keys in `memory`.
pub(super) fn sorted<'a>(spec: &FileSpec<'_>, memory: &'a mut [u32]) -> Result<Order<'a>, SpecError> {
    unique(spec, memory)?;
    let (tensors, keys) = split(spec, memory)?;
    sort(&mut Sorting { order: tensors, compare: |a, b| compare_at(spec, a, b) });
    Ok(Order { tensors, keys })
}

/// Checks that no name and no key is a duplicate. Leaves the order of the keys sorted.
pub(super) fn unique(spec: &FileSpec<'_>, memory: &mut [u32]) -> Result<(), SpecError> {
    let (tensors, keys) = split(spec, memory)?;
    let name = |index: u32| spec.tensors.get(index as usize).map_or("", TensorSpec::name);
    let key = |index: u32| spec.metadata.unwrap_or(&[]).get(index as usize).map_or("", |pair| pair.0);
    if let Some((other, index)) = sort_and_find_duplicate(tensors, name) {
        return Err(SpecErrorKind::DuplicateName { other }.at(SpecPart::Tensor(index)));
    }
    if let Some((other, index)) = sort_and_find_duplicate(keys, key) {
        return Err(SpecErrorKind::DuplicateKey { other }.at(SpecPart::Key(index)));
    }
    Ok(())
}

/// Sorts indices by their text, and returns the first two with the same text.
fn sort_and_find_duplicate<'t>(order: &mut [u32], text: impl Fn(u32) -> &'t str) -> Option<(usize, usize)> {
    for (index, slot) in (0..).zip(order.iter_mut()) {
        *slot = index;
    }
    let by_text = |a: u32, b: u32| text(a).cmp(text(b)).then(a.cmp(&b));
    sort(&mut Sorting { order, compare: by_text });
    let duplicate = order.iter().zip(order.iter().skip(1)).find(|(a, b)| text(**a) == text(**b));
    duplicate.map(|(a, b)| (*a as usize, *b as usize))
}

/// Splits the memory into the order of the tensors and the order of the keys.
fn split<'m>(
    spec: &FileSpec<'_>,
    memory: &'m mut [u32],
) -> Result<(&'m mut [u32], &'m mut [u32]), SpecError> {
    let (tensors, keys) = (spec.tensors.len(), spec.metadata.map_or(0, <[_]>::len));
    let (needed, capacity) = (tensors.saturating_add(keys), memory.len());
    let parts = memory.get_mut(..needed).and_then(|memory| memory.split_at_mut_checked(tensors));
    parts.ok_or_else(|| SpecErrorKind::OrderMemory { needed, capacity }.at(SpecPart::File))
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
