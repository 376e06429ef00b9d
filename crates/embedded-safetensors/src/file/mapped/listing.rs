//! The tensors of a model in memory, on the heap, with a table to find them by name.

use crate::validate::Summary;
use crate::view::{Link, Tensor, View};
use std::boxed::Box;
use std::iter;
use std::vec;
use std::vec::Vec;

/// A model in memory, and all of its tensors.
pub(super) struct Listing<'a> {
    /// On the heap, as all that borrows: a reference that is moved must lead somewhere until the move is done, also into a `drop`.
    view: Box<View<'a>>,
    tensors: Box<[Tensor<'a>]>,
    links: Box<[Link]>,
}

impl<'a> Listing<'a> {
    /// Of a file that is proven, names that occur twice included.
    pub(super) fn of(file: &'a [u8], summary: Summary) -> Self {
        let view = View::proven(file, summary);
        let mut tensors = view.tensors();
        let mut all = Vec::with_capacity(view.len());
        all.extend(iter::from_fn(|| tensors.next_of_any_rank()));
        let tensors: Box<[Tensor<'a>]> = all.into_boxed_slice();
        let mut links = vec![Link::NONE; tensors.len()].into_boxed_slice();
        Link::join(&mut links, &tensors);
        Self { view: Box::new(view), tensors, links }
    }

    /// The view, which finds tensors in the table.
    pub(super) fn view(&self) -> View<'_> {
        self.view.with_links(&self.tensors, &self.links)
    }
}
