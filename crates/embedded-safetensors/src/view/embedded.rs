//! A model that is linked into the program: proven and listed by the compiler, in one pass.

use super::message::Message;
use super::prove::prove;
use super::tensor::Tensor;
use super::{View, fail};
use crate::check::{Summary, check_header};
use crate::error::{Error, ErrorKind};
use crate::native::{Align, Aligned, AlignedFile, Alignment};
use crate::smallest::Slot;

/// What [`include_model!`](crate::include_model) makes of a file: its view and all of its tensors.
#[doc(hidden)]
#[derive(Debug)]
pub struct Embedded<'a, const ROOM: usize> {
    view: View<'a>,
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
        let view = embed(Aligned::file(file), &mut tensors);
        Self { view, tensors }
    }

    /// How many tensors there are.
    pub const fn tensor_count(&self) -> usize {
        self.view.len()
    }

    /// Just the tensors.
    pub const fn tensors<const N: usize>(&self) -> [Tensor<'a>; N] {
        match self.tensors.first_chunk() {
            Some(tensors) => *tensors,
            None => panic!("there are more tensors than braces"),
        }
    }

    /// The view, which looks tensors up in this table. For consts.
    ///
    /// # Panics
    /// When a name stands twice.
    pub const fn view(&self, tensors: &'a [Tensor<'a>]) -> View<'a> {
        self.view.with_tensors(tensors).with_unique_names()
    }
}

/// No header has more tensors than opening braces.
#[doc(hidden)]
pub const fn room(file: &[u8]) -> usize {
    let Some((length, rest)) = file.split_first_chunk() else { return 0 };
    let header = match crate::bytes::index_below(u64::from_le_bytes(*length), rest.len()) {
        Some(len) => rest.split_at(len).0,
        None => rest,
    };
    let (mut left, mut braces) = (header, 0);
    while let [byte, rest @ ..] = left {
        if *byte == b'{' {
            braces += 1;
        }
        left = rest;
    }
    braces
}

/// Proves a file, lists its tensors as far as there is room, and has no other way to fail than to stop the compiler.
pub(super) const fn embed<'a>(file: Aligned<'a>, table: &mut [Tensor<'a>]) -> View<'a> {
    match prove(file, table) {
        Ok(summary) => View::new(file, summary),
        Err(Error { kind: ErrorKind::OutOfOrder, .. }) => View::new(file, sorted(file.bytes())),
        Err(error) => fail(&Message::of(error)),
    }
}

/// Inside a compiler there is memory enough to sort in.
const fn sorted(file: &[u8]) -> Summary {
    match check_header(file, &mut [Slot::EMPTY; 1024]) {
        Ok(summary) => summary,
        Err(error) => fail(&Message::of(error)),
    }
}
