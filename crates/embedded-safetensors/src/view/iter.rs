//! All tensors of a model in memory.

use super::View;
use super::tensor::Tensor;
use super::walk::Walk;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::header::Signal;

/// All tensors of a [`View`], in the header's order.
///
/// One that has more dimensions than a [`Shape`](crate::Shape) holds is an [`ErrorKind::Rank`] in its place; the others
/// follow.
///
/// *Memory*: at most 352 bytes.
pub struct Tensors<'a> {
    view: View<'a>,
    /// At its end where the tensors come from a table.
    walk: Walk<'a, false>,
    left: usize,
}

impl<'a> View<'a> {
    /// All tensors, in the header's order.
    pub const fn tensors(&self) -> Tensors<'a> {
        let walk = Walk::<false>::new(if self.tensors.is_empty() { self.file() } else { &[] });
        Tensors { view: *self, walk, left: self.len() }
    }

    /// All tensors in an array. For consts, `N` being [`MODEL.len()`](Self::len).
    ///
    /// # Panics
    /// When there are not `N` tensors, or one has more dimensions than a [`Shape`](crate::Shape) holds, which in a const fails the build. Not for run time.
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
    /// [`Iterator::next`], but const.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] for a tensor that cannot be held.
    pub const fn next_tensor(&mut self) -> Option<Result<Tensor<'a>, Error>> {
        let Some(tensor) = self.next_of_any_rank() else { return None };
        Some(match tensor.seen().check_rank() {
            Ok(()) => Ok(tensor),
            Err(error) => Err(error),
        })
    }

    /// The next tensor, of which not all dimensions may be held.
    pub(crate) const fn next_of_any_rank(&mut self) -> Option<Tensor<'a>> {
        self.left = self.left.saturating_sub(1);
        if let [tensor, rest @ ..] = self.view.tensors {
            self.view.tensors = rest;
            return Some(*tensor);
        }
        match self.walk.next() {
            Signal::TensorEnd => Some(Tensor::new(self.view.file, self.view.data_start(), &self.walk.seen())),
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
