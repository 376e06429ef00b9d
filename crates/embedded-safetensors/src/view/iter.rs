//! An iterator over the tensors of a model in memory.

use super::View;
use super::tensor::Tensor;
use super::walk::Walk;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::header::Signal;

/// An iterator over all tensors of a [`View`], in the header's order.
///
/// A tensor with more dimensions than a [`Shape`](crate::Shape) holds is returned as an [`ErrorKind::Rank`];
/// the iteration continues after it.
///
/// *Memory*: at most 352 bytes.
pub struct Tensors<'a> {
    view: View<'a>,
    /// At its end when the tensors come from a table.
    walk: Walk<'a, false>,
    left: usize,
}

impl<'a> View<'a> {
    /// Returns all tensors, in the header's order.
    pub const fn tensors(&self) -> Tensors<'a> {
        let walk = Walk::<false>::new(if self.tensors.is_empty() { self.file() } else { &[] });
        Tensors { view: *self, walk, left: self.len() }
    }

    /// Returns all tensors in an array. For consts, where `N` is [`MODEL.len()`](Self::len).
    ///
    /// # Panics
    /// When there are not `N` tensors, or one has more dimensions than a [`Shape`](crate::Shape) holds. In a
    /// const that fails the build. Not for run time.
    pub const fn to_array<const N: usize>(&self) -> [Tensor<'a>; N] {
        let (mut array, mut tensors) = ([Tensor::NONE; N], self.tensors());
        let mut left: &mut [Tensor<'a>] = &mut array;
        while let [slot, rest @ ..] = left {
            *slot = match tensors.next_tensor() {
                Some(Ok(tensor)) => tensor,
                Some(Err(error)) => super::fail(&super::Message::of(error, self.file())),
                None => panic!("the array is longer than the model has tensors"),
            };
            left = rest;
        }
        assert!(tensors.left == 0, "the array is shorter than the model has tensors");
        array
    }
}

impl<'a> Tensors<'a> {
    /// Returns the next tensor: [`Iterator::next`], but const.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] for a tensor with more dimensions than a [`Shape`](crate::Shape) holds.
    pub const fn next_tensor(&mut self) -> Option<Result<Tensor<'a>, Error>> {
        let Some(tensor) = self.next_of_any_rank() else { return None };
        Some(match tensor.parsed().check_rank() {
            Ok(()) => Ok(tensor),
            Err(error) => Err(error),
        })
    }

    /// Returns the next tensor, even if it has more dimensions than a shape holds.
    pub(crate) const fn next_of_any_rank(&mut self) -> Option<Tensor<'a>> {
        self.left = self.left.saturating_sub(1);
        if let [tensor, rest @ ..] = self.view.tensors {
            self.view.tensors = rest;
            return Some(*tensor);
        }
        match self.walk.next() {
            Signal::TensorEnd => {
                Some(Tensor::new(self.view.file, self.view.data_start(), &self.walk.parsed()))
            }
            _ => None,
        }
    }
}

impl<'a> Iterator for Tensors<'a> {
    type Item = Result<Tensor<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_tensor()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Tensors<'_> {}

impl core::iter::FusedIterator for Tensors<'_> {}

shown!(Tensors<'_>, it => "Tensors {{ left: {:?}, .. }}", it.left);
