//! Tensors by their names, of which none may stand twice.

use super::json_str::{JsonStr, hash};
use super::links::{Chain, Link, link};
use super::message::Message;
use super::prove::prove;
use super::tensor::Tensor;
use super::walk::{Seen, Walk};
use super::{View, fail};
use crate::error::{Error, ErrorKind};
use crate::util::bytes::get_mut;
use crate::util::top_k::SortSlot;
#[cfg(doc)]
use crate::validate::duplicates::DuplicateFinder;
use crate::validate::validate_names;

/// As many tensors as a compiler sees at once where it has no table.
const MANY: usize = 1024;

impl<'a> View<'a> {
    /// Looks a tensor up: in the table, where there is one, or in one pass over the header.
    ///
    /// # Errors
    /// [`ErrorKind::NameTwice`] when two tensors have this name; [`ErrorKind::Rank`] when it has more
    /// dimensions than a [`Shape`](crate::Shape) holds.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub const fn find(&self, name: &str) -> Result<Option<Tensor<'a>>, Error> {
        match self.seek(name) {
            Ok(Some(seen)) => Ok(Some(self.found(&seen))),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Looks up a tensor that must be there.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] at the end of the header when it is not; otherwise as [`find`](Self::find).
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub const fn tensor(&self, name: &str) -> Result<Tensor<'a>, Error> {
        match self.seek(name) {
            Ok(Some(seen)) => Ok(self.found(&seen)),
            Ok(None) => Err(self.not_found()),
            Err(error) => Err(error),
        }
    }

    /// There is no tensor of a name.
    pub(crate) const fn not_found(&self) -> Error {
        ErrorKind::NotFound { query: None }.at(self.data_start())
    }

    /// The tensor is made where it is to be: each copy of it would take as long as a tenth of the lookup.
    #[inline(always)]
    pub(super) const fn found(&self, seen: &Seen<'a>) -> Tensor<'a> {
        Tensor::found(self.file, self.data_start(), seen)
    }

    const fn seek(&self, name: &str) -> Result<Option<Seen<'a>>, Error> {
        match (self.tensors, self.links) {
            ([], _) => self.seek_in_header(name),
            (_, []) => self.seek_in_table(name),
            _ => self.seek_in_chain(name),
        }
    }

    pub(super) const fn seek_in_header(&self, name: &str) -> Result<Option<Seen<'a>>, Error> {
        let (mut walk, mut found) = (Walk::<false>::new(self.file()), None);
        while walk.seek(name) {
            if found.is_some() {
                return Err(ErrorKind::NameTwice.at(walk.name().at()));
            }
            let seen = walk.seen();
            if let Err(error) = seen.check_rank() {
                return Err(error);
            }
            found = Some(seen);
        }
        Ok(found)
    }

    const fn seek_in_table(&self, name: &str) -> Result<Option<Seen<'a>>, Error> {
        let (mut left, mut found) = (self.tensors, None);
        let hash = hash(name.as_bytes());
        while let [tensor, rest @ ..] = left {
            left = rest;
            if (tensor.hash != hash && tensor.hash != Tensor::NO_HASH) || !tensor.name().is(name) {
                continue;
            }
            if found.is_some() {
                return Err(ErrorKind::NameTwice.at(tensor.name().at()));
            }
            let seen = tensor.seen();
            if let Err(error) = seen.check_rank() {
                return Err(error);
            }
            found = Some(seen);
        }
        Ok(found)
    }

    /// In a table whose names are proven unique.
    const fn seek_in_chain(&self, name: &str) -> Result<Option<Seen<'a>>, Error> {
        let hash = hash(name.as_bytes());
        let mut chain = Chain::of(hash, self.links, self.tensors);
        while let Some(tensor) = chain.next_tensor() {
            if tensor.hash == hash && tensor.name().is(name) {
                let seen = tensor.seen();
                return match seen.check_rank() {
                    Ok(()) => Ok(Some(seen)),
                    Err(error) => Err(error),
                };
            }
        }
        Ok(None)
    }

    /// Proves that no name occurs twice, and no key of `__metadata__`, as [`DuplicateFinder`], in as many passes over the header
    /// as its memory asks for.
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

    /// The same view, if no name occurs twice and no key of `__metadata__`. For consts; [`include_model!`](crate::include_model) has
    /// it done already.
    ///
    /// # Panics
    /// When one does, which in a const fails the build with the name. Not for run time.
    pub const fn with_unique_names(self) -> Self {
        let (mut table, mut links) = ([Tensor::NONE; MANY], [Link::NONE; MANY]);
        let room = (table.split_at_mut_checked(self.len()), links.split_at_mut_checked(self.len()));
        let verdict = match room {
            (Some((table, _)), Some((links, _))) => self.check_in_table(table, links),
            _ => self.validate_names([0, 0], &mut [SortSlot::EMPTY; MANY], &mut [0; MANY]),
        };
        match verdict {
            Ok(()) => self,
            Err(error) => self.fail_at_name(error),
        }
    }

    /// As [`validate_names`](Self::validate_names), in memory for all tensors: what takes a compiler the least time.
    const fn check_in_table(&self, table: &mut [Tensor<'a>], links: &mut [Link]) -> Result<(), Error> {
        // The file is validated already, and this only fills the table. `OutOfOrder` is no failure here.
        _ = prove::<true>(self.file, table);
        match link(links, table) {
            Ok(()) => self.check_keys(),
            Err(error) => Err(error),
        }
    }

    /// Proves that no key of `__metadata__` occurs twice. For consts: what it takes on the stack is for a compiler.
    pub(super) const fn check_keys(&self) -> Result<(), Error> {
        let (mut marks, mut pairs) = (Marks::new(), self.metadata());
        while let Some((key, _)) = pairs.next_pair() {
            if marks.mark(key.hash()) && self.has_earlier(&key) {
                return Err(ErrorKind::KeyTwice.at(key.at()));
            }
        }
        Ok(())
    }

    /// Whether this key of `__metadata__` repeats one before it.
    const fn has_earlier(&self, key: &JsonStr<'_>) -> bool {
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

    /// Stops the compiler for an error, which is one of the name or key where it is.
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

/// The hashes that have been seen, one bit for all that are alike in their upper bits: of thousands of texts a few are
/// suspected for nothing.
struct Marks {
    words: [u32; Self::WORDS],
}

impl Marks {
    const WORDS: usize = 1 << 15;

    const fn new() -> Self {
        Self { words: [0; Self::WORDS] }
    }

    /// Whether there has been one like this before.
    const fn mark(&mut self, hash: u32) -> bool {
        let Some(word) = get_mut(&mut self.words, (hash >> 17) as usize) else { return true };
        let bit = 1 << ((hash >> 12) & 31);
        let is_marked = *word & bit != 0;
        *word |= bit;
        is_marked
    }
}
