//! A model that is linked into the program: the compiler validates it and lists its tensors, in one pass.

use super::links::{Link, link};
use super::message::Message;
use super::tensor::Tensor;
use super::verdict::{Validated, validate_and_list};
use super::{View, fail};
use crate::error::{Error, ErrorKind};
use crate::util::bytes::index_below;
use crate::util::top_k::SortSlot;
use crate::validate::validate_header;
use crate::values::native::{Align, Aligned, AlignedFile, Alignment};

/// The view of a file and all of its tensors, for [`include_model!`](crate::include_model).
#[doc(hidden)]
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Embedded<'a, const ROOM: usize> {
    view: View<'a>,
    has_metadata: bool,
    tensors: [Tensor<'a>; ROOM],
}

impl<'a, const ROOM: usize> Embedded<'a, ROOM> {
    /// Validates a file and lists the tensors. For consts.
    ///
    /// # Panics
    /// When the file is invalid.
    pub const fn new<const ALIGN: usize, const LEN: usize>(file: &'a AlignedFile<ALIGN, LEN>) -> Self
    where
        Align<ALIGN>: Alignment,
    {
        let mut tensors = [Tensor::NONE; ROOM];
        let file = Aligned::file(file);
        let Validated { summary, has_metadata } = embed(file, &mut tensors);
        Self { view: View::new(file, summary), has_metadata, tensors }
    }

    /// Returns the number of tensors.
    pub const fn tensor_count(&self) -> usize {
        self.view.len()
    }

    /// Returns the tensors without the unused slots.
    pub const fn tensors<const N: usize>(&self) -> [Tensor<'a>; N] {
        match self.tensors.first_chunk() {
            Some(tensors) => *tensors,
            None => panic!("there are more tensors than the header has room for"),
        }
    }

    /// Builds the hash table of the names. For consts.
    ///
    /// # Panics
    /// When a name is a duplicate.
    pub const fn links<const N: usize>(&self) -> [Link; N] {
        let mut links = [Link::NONE; N];
        if let Err(error) = link(&mut links, &self.tensors) {
            self.view.fail_at_name(error);
        }
        links
    }

    /// Returns the view, which looks tensors up in this table. For consts.
    ///
    /// # Panics
    /// When a key of `__metadata__` is a duplicate.
    pub const fn view(&self, tensors: &'a [Tensor<'a>], links: &'a [Link]) -> View<'a> {
        let keys = if self.has_metadata { self.view.check_keys() } else { Ok(()) };
        if let Err(error) = keys {
            self.view.fail_at_name(error);
        }
        View { tensors, links, ..self.view }
    }
}

/// Returns an upper bound of the number of tensors: each takes more than 32 bytes of the header.
#[doc(hidden)]
pub const fn room(file: &[u8]) -> usize {
    let Some((length, rest)) = file.split_first_chunk() else { return 0 };
    match index_below(u64::from_le_bytes(*length), rest.len()) {
        Some(len) => len >> 5,
        None => rest.len() >> 5,
    }
}

/// Validates a file in any order and lists the tensors that fit in `table`, or fails the build.
pub(super) const fn embed<'a>(file: Aligned<'a>, table: &mut [Tensor<'a>]) -> Validated {
    match validate_and_list::<true>(file, table) {
        Ok(validated) => validated,
        Err(Error { kind: ErrorKind::OutOfOrder, .. }) => sorted(file.bytes()),
        Err(error) => fail(&Message::of(error, file.bytes())),
    }
}

/// Validates a header in any order. During const evaluation there is enough memory for many slots.
const fn sorted(file: &[u8]) -> Validated {
    match validate_header(file, &mut [SortSlot::EMPTY; 1024]) {
        Ok(summary) => Validated { summary, has_metadata: true },
        Err(error) => fail(&Message::of(error, file)),
    }
}
