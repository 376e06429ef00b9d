//! A model that is linked into the program: proven and listed by the compiler, in one pass.

use super::links::{Link, link};
use super::message::Message;
use super::prove::{Proof, prove};
use super::tensor::Tensor;
use super::{View, fail};
use crate::error::{Error, ErrorKind};
use crate::util::bytes::index_below;
use crate::util::top_k::SortSlot;
use crate::validate::validate_header;
use crate::values::native::{Align, Aligned, AlignedFile, Alignment};

/// What [`include_model!`](crate::include_model) makes of a file: its view and all of its tensors.
#[doc(hidden)]
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Embedded<'a, const ROOM: usize> {
    view: View<'a>,
    has_metadata: bool,
    tensors: [Tensor<'a>; ROOM],
}

impl<'a, const ROOM: usize> Embedded<'a, ROOM> {
    /// Proves a file and lists the tensors. For consts.
    ///
    /// # Panics
    /// When the file is not sound.
    pub const fn new<const ALIGN: usize, const LEN: usize>(file: &'a AlignedFile<ALIGN, LEN>) -> Self
    where
        Align<ALIGN>: Alignment,
    {
        let mut tensors = [Tensor::NONE; ROOM];
        let file = Aligned::file(file);
        let Proof { summary, has_metadata } = embed(file, &mut tensors);
        Self { view: View::new(file, summary), has_metadata, tensors }
    }

    /// How many tensors there are.
    pub const fn tensor_count(&self) -> usize {
        self.view.len()
    }

    /// Just the tensors.
    pub const fn tensors<const N: usize>(&self) -> [Tensor<'a>; N] {
        match self.tensors.first_chunk() {
            Some(tensors) => *tensors,
            None => panic!("there are more tensors than the header has room for"),
        }
    }

    /// Where each name is to be found. For consts.
    ///
    /// # Panics
    /// When a name stands twice.
    pub const fn links<const N: usize>(&self) -> [Link; N] {
        let mut links = [Link::NONE; N];
        if let Err(error) = link(&mut links, &self.tensors) {
            self.view.fail_at_name(error);
        }
        links
    }

    /// The view, which looks tensors up in this table. For consts.
    ///
    /// # Panics
    /// When a key of `__metadata__` stands twice.
    pub const fn view(&self, tensors: &'a [Tensor<'a>], links: &'a [Link]) -> View<'a> {
        let keys = if self.has_metadata { self.view.check_keys() } else { Ok(()) };
        if let Err(error) = keys {
            self.view.fail_at_name(error);
        }
        View { tensors, links, ..self.view }
    }
}

/// As many tensors as a file can have at the most: each takes more than 32 bytes of the header.
#[doc(hidden)]
pub const fn room(file: &[u8]) -> usize {
    let Some((length, rest)) = file.split_first_chunk() else { return 0 };
    match index_below(u64::from_le_bytes(*length), rest.len()) {
        Some(len) => len >> 5,
        None => rest.len() >> 5,
    }
}

/// Proves a file in any order, lists its tensors as far as there is room, or stops the compiler.
pub(super) const fn embed<'a>(file: Aligned<'a>, table: &mut [Tensor<'a>]) -> Proof {
    match prove::<true>(file, table) {
        Ok(proof) => proof,
        Err(Error { kind: ErrorKind::OutOfOrder, .. }) => sorted(file.bytes()),
        Err(error) => fail(&Message::of(error, file.bytes())),
    }
}

/// Inside a compiler there is memory enough to sort in.
const fn sorted(file: &[u8]) -> Proof {
    match validate_header(file, &mut [SortSlot::EMPTY; 1024]) {
        Ok(summary) => Proof { summary, has_metadata: true },
        Err(error) => fail(&Message::of(error, file)),
    }
}
