//! Models in files that are mapped into memory: nothing is copied, and what is not looked at is not read.

mod advice;
mod listing;
#[allow(unsafe_code)]
mod open;

use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::file::disk::{Handle, Version};
use crate::file::error::{FileError, FileFault};
use crate::validate::Summary;
use crate::view::{MetadataView, Tensor, Tensors, View};
pub use advice::Advice;
use core::fmt;
use listing::Listing;
use memmap2::Mmap;
pub use open::MapOptions;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A model in a file that is mapped into memory: proven, its tensors found by name in a table, their bytes where the system has them.
///
/// ```
/// use embedded_safetensors::MappedModel;
/// # use embedded_safetensors::{Dtype, file::write_file, write::{FileSpec, TensorSpec}};
/// # let path = std::env::temp_dir().join(format!("mapped-model-{}", std::process::id()));
/// # let tensors = [TensorSpec::new("fc.bias", Dtype::F32, &[2])];
/// # write_file(&path, FileSpec::new(&tensors), |file| file.write_values("fc.bias", &[0.5f32, 1.5]))?;
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
/// [replaced](crate::file::write_file) are safe: a map keeps the old one. For all others, such as what a user names on a command line, there is [`FileModel`](crate::FileModel), with the same lookups by
/// reads, whose failures are errors.
///
/// It does not deref to its [view](Self::view): that would have to be a `View<'static>`, whose tensors outlive the map.
///
/// *Memory*: addresses for the whole file, and of RAM what the system gives to pages that are looked at; 168 bytes for each tensor on the heap, and while it
/// is opened the header, twice; one open file.
pub struct MappedModel {
    /// Borrows from `map`, for as long as that is there: see [`open`].
    listing: Listing<'static>,
    map: Mmap,
    file: File,
    path: PathBuf,
    version: Version,
}

impl MappedModel {
    /// The model as it lies in memory.
    pub fn view(&self) -> View<'_> {
        self.listing.view()
    }

    /// The path that was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many tensors there are, and where their data lie.
    pub fn summary(&self) -> Summary {
        self.view().summary()
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.view().is_empty()
    }

    /// All tensors, in the header's order.
    pub fn tensors(&self) -> Tensors<'_> {
        self.view().tensors()
    }

    /// The tensor of this name. Takes the same time however many there are, unless the names were chosen to take as much as looking through all.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Rank`] when it has more dimensions than a [`Shape`](crate::Shape) holds.
    ///
    /// # Panics
    /// Never.
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>, Error> {
        self.view().tensor(name)
    }

    /// The keys and values of `__metadata__`, in the header's order.
    pub fn metadata(&self) -> MetadataView<'_> {
        self.view().metadata()
    }

    /// Asks the system whether the file is as long as it was, and has not been written to. No page of it is looked at, so this
    /// is safe where a look would not be. It says nothing of what happens afterwards, nor of a write within the smallest time that the file system notes.
    ///
    /// # Errors
    /// [`FileFault::Changed`]; those of the system.
    ///
    /// # Panics
    /// Never.
    pub fn check_unchanged(&self) -> Result<(), FileError> {
        match self.file.stat() {
            Ok(stat) if stat.version == self.version => Ok(()),
            Ok(_) => Err(FileFault::Changed.of(&self.path)),
            Err(error) => Err(FileFault::system("look at", error).of(&self.path)),
        }
    }

    /// Tells the system how the model is going to be read from now on.
    ///
    /// # Errors
    /// Those of the system. On Windows, which has no such call, none.
    ///
    /// # Panics
    /// Never.
    pub fn advise(&self, advice: Advice) -> Result<(), FileError> {
        advice.give(&self.map).map_err(|error| self.cannot_advise(error))
    }

    /// Has the system begin to read these bytes of the model, and with them the rest of the pages that they lie on, and returns at once:
    /// `model.prefetch(tensor.bytes())`, or a part of them, such as what [`slice_runs`](Tensor::slice_runs) gives.
    ///
    /// # Errors
    /// Of [`InvalidInput`](io::ErrorKind::InvalidInput) for bytes that are not of this model; those of the system. On Windows, which has no such
    /// call, none.
    ///
    /// # Panics
    /// Never.
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
        FileFault::system("read ahead in", error).of(&self.path)
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
