//! `__metadata__` of a model in memory.

use super::View;
use super::quoted::Quoted;
use super::walk::Walk;
use crate::error::{Error, ErrorKind};
use crate::header::Signal;

/// The keys and values of `__metadata__`, in the header's order, where they lie.
///
/// *Memory*: at most 264 bytes.
pub struct MetadataView<'a> {
    walk: Walk<'a>,
    is_over: bool,
}

impl<'a> View<'a> {
    /// The keys and values of `__metadata__`, where there are any. Keys that occur twice come twice.
    pub const fn metadata(&self) -> MetadataView<'a> {
        MetadataView { walk: Walk::new(self.file()), is_over: false }
    }

    /// The value of one key of `__metadata__`.
    ///
    /// # Errors
    /// [`ErrorKind::KeyTwice`] when the key is there twice.
    ///
    /// # Panics
    /// Never.
    pub const fn metadata_value(&self, key: &str) -> Result<Option<Quoted<'a>>, Error> {
        let (mut pairs, mut found) = (self.metadata(), None);
        while let Some((name, value)) = pairs.next_pair() {
            if !name.is(key) {
                continue;
            }
            if found.is_some() {
                return Err(ErrorKind::KeyTwice.at(name.at()));
            }
            found = Some(value);
        }
        Ok(found)
    }
}

impl<'a> MetadataView<'a> {
    /// [`Iterator::next`], but const.
    ///
    /// # Panics
    /// Never.
    pub const fn next_pair(&mut self) -> Option<(Quoted<'a>, Quoted<'a>)> {
        if self.is_over {
            return None;
        }
        if let Signal::KeyEnd = self.walk.next_text() {
            let key = self.walk.string();
            if let Signal::ValueEnd = self.walk.next_text() {
                return Some((key, self.walk.string()));
            }
        }
        self.is_over = true;
        None
    }
}

impl<'a> Iterator for MetadataView<'a> {
    type Item = (Quoted<'a>, Quoted<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.next_pair()
    }
}

impl core::iter::FusedIterator for MetadataView<'_> {}

impl core::fmt::Debug for MetadataView<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MetadataView").finish_non_exhaustive()
    }
}
