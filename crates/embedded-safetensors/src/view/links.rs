//! A hash table of the names in a table of tensors. Its chains are built during const evaluation.

use super::tensor::Tensor;
use crate::error::{Error, ErrorKind};
use crate::util::bytes::{get, get_mut, index_below};

/// One entry for each tensor. Its index is also the number of a chain.
///
/// *Memory*: 8 bytes, `Copy`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Link {
    /// The first tensor of this chain, counted from 1; 0 for none.
    first: u32,
    /// The tensor after this one in its chain, counted from 1; 0 for none.
    next: u32,
}

impl Link {
    pub(crate) const NONE: Self = Self { first: 0, next: 0 };
}

/// Inserts each tensor into its chain, for as many tensors as there are links.
///
/// # Errors
/// [`ErrorKind::DuplicateName`] at the first name that repeats an earlier one.
pub(super) const fn link(links: &mut [Link], tensors: &[Tensor<'_>]) -> Result<(), Error> {
    let (mut left, mut number) = (tensors, 1);
    while let ([tensor, rest @ ..], true) = (left, number as usize <= links.len()) {
        let mut earlier = Chain::of(tensor.hash, links, tensors);
        let next = earlier.left;
        while let Some(other) = earlier.next_tensor() {
            if other.hash == tensor.hash && other.name().equals(&tensor.name()) {
                return Err(ErrorKind::DuplicateName.at(tensor.name().at()));
            }
        }
        if let Some(own) = get_mut(links, number as usize - 1) {
            own.next = next;
        }
        if let Some(chain) = get_mut(links, chain_of(tensor.hash, links.len())) {
            chain.first = number;
        }
        (left, number) = (rest, number + 1);
    }
    Ok(())
}

/// The tensors of one chain.
pub(super) struct Chain<'l, 'a> {
    links: &'l [Link],
    tensors: &'l [Tensor<'a>],
    /// The next tensor, counted from 1; 0 for none.
    left: u32,
}

impl<'l, 'a> Chain<'l, 'a> {
    pub(super) const fn of(hash: u32, links: &'l [Link], tensors: &'l [Tensor<'a>]) -> Self {
        let left = match get(links, chain_of(hash, links.len())) {
            Some(chain) => chain.first,
            None => 0,
        };
        Self { links, tensors, left }
    }

    pub(super) const fn next_tensor(&mut self) -> Option<Tensor<'a>> {
        let Some(index) = self.left.checked_sub(1) else { return None };
        self.left = match get(self.links, index as usize) {
            Some(link) => link.next,
            None => 0,
        };
        get(self.tensors, index as usize)
    }
}

/// Returns the chain of a hash: the hash scaled down to the number of chains.
const fn chain_of(hash: u32, chains: usize) -> usize {
    match index_below((hash as u64 * chains as u64) >> 32, chains) {
        Some(index) => index,
        None => 0,
    }
}
