//! Models in files that are mapped into memory: nothing is copied, and what is not looked at is not read.

use super::advice::Advice;
use super::error::{FileError, FileErrorKind};
use super::open::Version;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::index::OwnedIndex;
use crate::validate::Summary;
use crate::view::{MetadataView, Tensor, Tensors, View};
use core::fmt;
use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A model in a file that is mapped into memory: validated, its tensors found by name in a table, their bytes where the system has them.
///
/// ```
/// use embedded_safetensors::MappedModel;
/// # let path = std::env::temp_dir().join(format!("mapped-model-{}", std::process::id()));
/// # let header = br#"{"fc.bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}    "#;
/// # std::fs::write(&path, [&(header.len() as u64).to_le_bytes(), &header[..], &0.5f32.to_le_bytes(), &1.5f32.to_le_bytes()].concat())?;
///
/// // SAFETY: nobody writes to this file while the program runs.
/// let model = unsafe { MappedModel::open(&path)? };
/// let bias = model.tensor("fc.bias")?;
/// assert_eq!(bias.as_f32()?, [0.5, 1.5]); // borrowed from the model, nothing is copied
/// # drop(model);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// **The hazard.** A map is no copy. What others write to the file shows in it, which no Rust program may see happen to a `&[u8]`; and where the file has been cut off, or
/// lies on a disk of the network that does not answer, the first look at a lost page kills the program (`SIGBUS` on Unix, an exception on Windows, where
/// a mapped file cannot be cut off). No library can turn that into an error. So [`open`](Self::open) is `unsafe`, and who calls it vouches for the file.
/// [`check_unchanged`](Self::check_unchanged) notices what has happened to it up to now, without touching a page. Files that are only ever
/// replaced, as the crate `safetensors-files` does it, are safe: a map keeps the old one. For all others, such as what a user names on a command line, there is [`FileModel`](crate::FileModel), with the same lookups by
/// reads, whose failures are errors.
///
/// *Memory*: addresses for the whole file, and of RAM what the system gives to pages that are looked at; an [`OwnedIndex`], and while it
/// is opened the header; one open file.
pub struct MappedModel {
    pub(super) index: OwnedIndex,
    pub(super) map: Mmap,
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) version: Version,
}

impl MappedModel {
    /// The model as it lies in memory.
    pub fn view(&self) -> View<'_> {
        View::of_validated(&self.map, self.index.summary())
    }

    /// All tensors and the metadata.
    pub fn index(&self) -> &OwnedIndex {
        &self.index
    }

    /// The path that was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many tensors there are, and where their data lie.
    pub fn summary(&self) -> Summary {
        self.index.summary()
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// All tensors, in the header's order.
    pub fn tensors(&self) -> Tensors<'_> {
        self.view().tensors()
    }

    /// The tensor of this name. Takes the same time however many there are.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] when it has more dimensions than a [`Shape`](crate::Shape) holds.
    pub fn find(&self, name: &str) -> Result<Option<Tensor<'_>>, Error> {
        match self.index.find_with_place(name) {
            Some((tensor, name_at)) => self.view().indexed(&tensor, name_at).map(Some),
            None => Ok(None),
        }
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// As [`find`](Self::find); [`ErrorKind::NotFound`].
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>, Error> {
        self.find(name)?.ok_or_else(|| self.view().not_found())
    }

    /// The keys and values of `__metadata__`, in the header's order.
    pub fn metadata(&self) -> MetadataView<'_> {
        self.view().metadata()
    }

    /// Asks the system whether the file is as long as it was, and has not been written to. No page of it is looked at, so this
    /// is safe where a look would not be. It says nothing of what happens afterwards, nor of a write within the smallest time that the file system notes.
    ///
    /// # Errors
    /// [`FileErrorKind::Changed`]; those of the system.
    pub fn check_unchanged(&self) -> Result<(), FileError> {
        self.version.check(&self.file).map_err(|fault| fault.of(&self.path))
    }

    /// Tells the system how the model is going to be read from now on.
    ///
    /// # Errors
    /// Those of the system. On Windows, which has no such call, none.
    pub fn advise(&self, advice: Advice) -> Result<(), FileError> {
        advice.give(&self.map).map_err(|error| self.cannot_advise(error))
    }

    /// Has the system begin to read these bytes of the model, and with them the rest of the pages that they lie on, and returns at once:
    /// `model.prefetch(tensor.bytes())`, or a part of them, such as what [`slice_runs`](Tensor::slice_runs) gives.
    ///
    /// # Errors
    /// Of [`InvalidInput`](io::ErrorKind::InvalidInput) for bytes that are not of this model; those of the system. On Windows, which has no such
    /// call, none.
    pub fn prefetch(&self, bytes: &[u8]) -> Result<(), FileError> {
        let begin = bytes.as_ptr().addr().checked_sub(self.map.as_ptr().addr());
        let begin =
            begin.filter(|begin| begin.checked_add(bytes.len()).is_some_and(|end| end <= self.map.len()));
        match begin {
            // Where nothing lies, its place says nothing.
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
        let summary = self.summary();
        f.debug_struct("MappedModel")
            .field("path", &self.path)
            .field("summary", &summary)
            .finish_non_exhaustive()
    }
}
