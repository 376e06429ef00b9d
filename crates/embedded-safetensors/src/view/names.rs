//! Lookups by name, and the check for duplicate names.

use super::json_str::{JsonStr, hash};
use super::links::{Chain, Link, link};
use super::message::Message;
use super::tensor::Tensor;
use super::verdict::validate_and_list;
use super::walk::{ParsedTensor, Walk};
use super::{View, fail};
use crate::error::{Error, ErrorKind};
use crate::query::find::{Query, find_each};
use crate::util::bytes::get_mut;
use crate::util::top_k::SortSlot;
#[cfg(doc)]
use crate::validate::duplicates::DuplicateFinder;
use crate::validate::validate_names;

/// The capacity of the tables in [`View::with_unique_names`].
const CAPACITY: usize = 1024;

impl<'a> View<'a> {
    /// Looks up a tensor, in the table if there is one, or in one pass over the header.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateName`] when two tensors have this name; [`ErrorKind::Rank`] when it has more
    /// dimensions than a [`Shape`](crate::Shape) holds.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub const fn find(&self, name: &str) -> Result<Option<Tensor<'a>>, Error> {
        match self.seek(name) {
            Ok(Some(parsed)) => Ok(Some(self.tensor_of(&parsed))),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Looks up a tensor that must exist.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] at the end of the header when there is none; otherwise as
    /// [`find`](Self::find).
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub const fn tensor(&self, name: &str) -> Result<Tensor<'a>, Error> {
        match self.seek(name) {
            Ok(Some(parsed)) => Ok(self.tensor_of(&parsed)),
            Ok(None) => Err(ErrorKind::NotFound { query: None }.at(self.data_start())),
            Err(error) => Err(error),
        }
    }

    /// Looks up any number of tensors, as [`Model::find_all`](crate::Model::find_all) does.
    ///
    /// # Errors
    /// As [`find`](Self::find), and then nothing is found; [`ErrorKind::NotFound`] when a tensor that is not
    /// [optional](Query::optional) is missing; [`ErrorKind::DtypeMismatch`], [`ErrorKind::RankMismatch`] and
    /// [`ErrorKind::ShapeMismatch`] when one is not as requested.
    pub fn find_all(&self, queries: &mut [Query<'_>]) -> Result<(), Error> {
        find_each(queries, self.data_start(), |name| Ok(self.find(name)?.map(|tensor| *tensor.info())))
    }

    /// Inlined so that the tensor is created in place: each copy of it would take a tenth of the time of the
    /// lookup.
    #[inline(always)]
    pub(super) const fn tensor_of(&self, parsed: &ParsedTensor<'a>) -> Tensor<'a> {
        Tensor::without_hash(self.file, self.data_start(), parsed)
    }

    const fn seek(&self, name: &str) -> Result<Option<ParsedTensor<'a>>, Error> {
        match (self.tensors, self.links) {
            ([], _) => self.seek_in_header(name),
            (_, []) => self.seek_in_table(name),
            _ => self.seek_in_chain(name),
        }
    }

    pub(super) const fn seek_in_header(&self, name: &str) -> Result<Option<ParsedTensor<'a>>, Error> {
        let (mut walk, mut found) = (Walk::<false>::new(self.file()), None);
        while walk.seek(name) {
            if found.is_some() {
                return Err(ErrorKind::DuplicateName.at(walk.name().at()));
            }
            let parsed = walk.parsed();
            if let Err(error) = parsed.check_rank() {
                return Err(error);
            }
            found = Some(parsed);
        }
        Ok(found)
    }

    const fn seek_in_table(&self, name: &str) -> Result<Option<ParsedTensor<'a>>, Error> {
        let (mut left, mut found) = (self.tensors, None);
        let hash = hash(name.as_bytes());
        while let [tensor, rest @ ..] = left {
            left = rest;
            if (tensor.hash != hash && tensor.hash != Tensor::NO_HASH) || !tensor.name().is(name) {
                continue;
            }
            if found.is_some() {
                return Err(ErrorKind::DuplicateName.at(tensor.name().at()));
            }
            let parsed = tensor.parsed();
            if let Err(error) = parsed.check_rank() {
                return Err(error);
            }
            found = Some(parsed);
        }
        Ok(found)
    }

    /// Searches a table whose names are known to be unique.
    const fn seek_in_chain(&self, name: &str) -> Result<Option<ParsedTensor<'a>>, Error> {
        let hash = hash(name.as_bytes());
        let mut chain = Chain::of(hash, self.links, self.tensors);
        while let Some(tensor) = chain.next_tensor() {
            if tensor.hash == hash && tensor.name().is(name) {
                let parsed = tensor.parsed();
                return match parsed.check_rank() {
                    Ok(()) => Ok(Some(parsed)),
                    Err(error) => Err(error),
                };
            }
        }
        Ok(None)
    }

    /// Checks that no name and no key of `__metadata__` is a duplicate, as [`DuplicateFinder`] does, in as
    /// many passes over the header as its memory requires.
    ///
    /// # Errors
    /// As [`DuplicateFinder::push`].
    pub const fn validate_names(
        &self,
        key: [u64; 2],
        slots: &mut [SortSlot],
        text: &mut [u8],
    ) -> Result<(), Error> {
        validate_names(self.file(), key, slots, text)
    }

    /// Returns the same view if no name and no key of `__metadata__` is a duplicate. For consts;
    /// [`include_model!`](crate::include_model) has already done this.
    ///
    /// # Panics
    /// When there is a duplicate, which in a const fails the build with the name. Not for run time.
    pub const fn with_unique_names(self) -> Self {
        let (mut table, mut links) = ([Tensor::NONE; CAPACITY], [Link::NONE; CAPACITY]);
        let tables = (table.split_at_mut_checked(self.len()), links.split_at_mut_checked(self.len()));
        let verdict = match tables {
            (Some((table, _)), Some((links, _))) => self.check_in_table(table, links),
            _ => self.validate_names([0, 0], &mut [SortSlot::EMPTY; CAPACITY], &mut [0; CAPACITY]),
        };
        match verdict {
            Ok(()) => self,
            Err(error) => self.fail_at_name(error),
        }
    }

    /// Checks as [`validate_names`](Self::validate_names) does, with memory for all tensors: the fastest way
    /// during const evaluation.
    const fn check_in_table(&self, table: &mut [Tensor<'a>], links: &mut [Link]) -> Result<(), Error> {
        // The file is validated already, and this only fills the table. `OutOfOrder` is not a failure here.
        _ = validate_and_list::<true>(self.file, table);
        match link(links, table) {
            Ok(()) => self.check_keys(),
            Err(error) => Err(error),
        }
    }

    /// Checks that no key of `__metadata__` is a duplicate. For consts: it uses much stack.
    pub(super) const fn check_keys(&self) -> Result<(), Error> {
        let (mut bits, mut pairs) = (HashBits::new(), self.metadata());
        while let Some((key, _)) = pairs.next_pair() {
            if bits.insert(key.hash()) && self.repeats_earlier(&key) {
                return Err(ErrorKind::DuplicateKey.at(key.at()));
            }
        }
        Ok(())
    }

    /// Returns whether this key of `__metadata__` repeats an earlier one.
    const fn repeats_earlier(&self, key: &JsonStr<'_>) -> bool {
        let mut others = self.metadata();
        while let Some((other, _)) = others.next_pair() {
            if other.at() >= key.at() {
                return false;
            }
            if other.equals(key) {
                return true;
            }
        }
        false
    }

    /// Fails the build for an error. Its message has the key of `__metadata__` that is at the error's offset,
    /// if there is one.
    pub(super) const fn fail_at_name(&self, error: Error) -> ! {
        let mut message = Message::of(error, self.file());
        let mut pairs = self.metadata();
        while let Some((key, _)) = pairs.next_pair() {
            if key.at() == error.at {
                message.push(": ");
                message.push_quoted(&key);
            }
        }
        fail(&message)
    }
}

/// The hashes already inserted, one bit for all hashes with equal upper bits. Among thousands of texts there
/// are a few false positives.
struct HashBits {
    words: [u32; Self::WORDS],
}

impl HashBits {
    const WORDS: usize = 1 << 15;

    const fn new() -> Self {
        Self { words: [0; Self::WORDS] }
    }

    /// Inserts a hash. Returns whether its bit was already set.
    const fn insert(&mut self, hash: u32) -> bool {
        let Some(word) = get_mut(&mut self.words, (hash >> 17) as usize) else { return true };
        let bit = 1 << ((hash >> 12) & 31);
        let is_marked = *word & bit != 0;
        *word |= bit;
        is_marked
    }
}
