//! Models in files that are mapped into memory. Nothing is copied, and the system reads only the pages that
//! are accessed.

use super::advice::Advice;
use super::error::{FileError, FileErrorKind};
use super::open::Version;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::index::OwnedIndex;
use crate::view::{MetadataView, Tensor, Tensors, View};
use core::fmt;
use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A model in a file that is mapped into memory. It is validated, its tensors are found by name in a table,
/// and their bytes are borrowed from the map.
///
/// **The hazard.** A map is not a copy. If another program writes to the file, the bytes of a `&[u8]` change,
/// which is undefined behavior. If the file is truncated, or is on a network disk that does not answer,
/// access to a lost page kills the program: with `SIGBUS` on Unix, with an exception on Windows, where a
/// mapped file cannot be truncated. No library can turn that into an error. So [`open`](Self::open) is
/// `unsafe`, and its caller is responsible for the file.
///
/// [`check_unchanged`](Self::check_unchanged) detects changes made up to now, without accessing a page. Files
/// that are only ever replaced, as the crate `safetensors-files` does, are safe: a map keeps the old file.
/// For all other files, such as those named on a command line, use [`FileModel`](crate::FileModel). It has
/// the same lookups, and reads, whose failures are errors.
///
/// *Memory*: addresses for the entire file, and RAM for the pages that are accessed, as the system decides;
/// an [`OwnedIndex`], and while it is opened the header; one open file.
pub struct MappedModel {
    pub(super) index: OwnedIndex,
    pub(super) map: Mmap,
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) version: Version,
}

impl MappedModel {
    /// Returns a view of the model in memory.
    pub fn view(&self) -> View<'_> {
        View::of_validated(&self.map, self.index.summary())
    }

    /// Returns the index of all tensors and the metadata.
    pub fn index(&self) -> &OwnedIndex {
        &self.index
    }

    /// Returns the path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns all tensors, in the header's order.
    pub fn tensors(&self) -> Tensors<'_> {
        self.view().tensors()
    }

    /// Looks up a tensor. The time does not depend on the number of tensors.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] when it has more dimensions than a [`Shape`](crate::Shape) holds.
    pub fn find(&self, name: &str) -> Result<Option<Tensor<'_>>, Error> {
        match self.index.find_with_place(name) {
            Some((tensor, name_at)) => self.view().indexed(&tensor, name_at).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the keys and values of `__metadata__`, in the header's order.
    pub fn metadata(&self) -> MetadataView<'_> {
        self.view().metadata()
    }

    /// Checks with the system that the file has the same length and was not written to. No page is accessed,
    /// so this is safe when access would not be. It does not cover later changes, nor a write within the time
    /// resolution of the file system.
    ///
    /// # Errors
    /// [`FileErrorKind::Changed`]; those of the system.
    pub fn check_unchanged(&self) -> Result<(), FileError> {
        self.version.check(&self.file).map_err(|kind| kind.of(&self.path))
    }

    /// Tells the system how the model will be read from now on.
    ///
    /// # Errors
    /// Those of the system. None on Windows, which has no such call.
    pub fn advise(&self, advice: Advice) -> Result<(), FileError> {
        advice.give(&self.map).map_err(|error| self.cannot_advise(error))
    }

    /// Makes the system begin to read these bytes of the model, with the rest of their pages, and returns at
    /// once. Use it as `model.prefetch(tensor.bytes())`, or with a part of the bytes, such as a run of
    /// [`slice_runs`](Tensor::slice_runs).
    ///
    /// # Errors
    /// One of kind [`InvalidInput`](io::ErrorKind::InvalidInput) for bytes that are not in this model; those
    /// of the system. None on Windows, which has no such call.
    pub fn prefetch(&self, bytes: &[u8]) -> Result<(), FileError> {
        let begin = bytes.as_ptr().addr().checked_sub(self.map.as_ptr().addr());
        let begin =
            begin.filter(|begin| begin.checked_add(bytes.len()).is_some_and(|end| end <= self.map.len()));
        match begin {
            // The address of an empty slice means nothing.
            _ if bytes.is_empty() => Ok(()),
            Some(begin) => Advice::WillNeed.give_of(&self.map, begin, bytes.len()),
            None => Err(io::Error::new(io::ErrorKind::InvalidInput, "the bytes are of something else")),
        }
        .map_err(|error| self.cannot_advise(error))
    }

    fn cannot_advise(&self, error: io::Error) -> FileError {
        FileErrorKind::system("read ahead in", error).of(&self.path)
    }
}

impl fmt::Debug for MappedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = self.index.summary();
        f.debug_struct("MappedModel")
            .field("path", &self.path)
            .field("summary", &summary)
            .finish_non_exhaustive()
    }
}
