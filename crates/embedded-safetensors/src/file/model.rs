//! Models in files, with positioned reads. Names and shapes are on the heap.

use super::error::FileError;
use super::open::{Opened, Version};
use crate::error::Error;
use crate::index::{IndexedTensor, OwnedIndex};
use crate::io::{FileLen, ReadAt};
use crate::reader::tensor::TensorReader;
use crate::tensor::span::{Located, Location, Span};
use core::fmt;
use core::ops::Deref;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

/// A model in a file. It is validated, its tensors are listed and found by name, and their data is read only
/// on request.
///
/// All data is read from the file at its offset; nothing is mapped. So a network disk that fails, or a file
/// that is truncated, is only an error of a read. Several threads can read one model at the same time.
///
/// *Memory*: an [`OwnedIndex`], and while it is opened the header; one open file.
pub struct FileModel {
    path: PathBuf,
    file: File,
    version: Version,
    index: OwnedIndex,
}

impl FileModel {
    /// Opens a file and validates its header, with the verdict of [`validate`](crate::validate::validate())
    /// on the entire file. Only the header is read, and nothing is written. If an edit in place has left the
    /// header half written, that is an error, and `ModelEditor::recover` in the crate `safetensors-files`
    /// repairs it.
    ///
    /// # Errors
    /// [`FileErrorKind::Format`](super::FileErrorKind::Format) for an invalid file;
    /// [`FileErrorKind::Duplicate`](super::FileErrorKind::Duplicate) for a duplicate name or key of
    /// `__metadata__`; [`FileErrorKind::NotAFile`](super::FileErrorKind::NotAFile);
    /// [`FileErrorKind::Interrupted`](super::FileErrorKind::Interrupted); those of the system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        Opened::at(path).map(|opened| Self::new(opened, path)).map_err(|kind| kind.of(path))
    }

    /// Validates a file that is already open, as [`open`](Self::open) does. `name` is used in errors, and can
    /// be empty.
    ///
    /// # Errors
    /// As [`open`](Self::open), except the error for a half-written header.
    pub fn from_file(file: File, name: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = name.as_ref();
        Opened::of(file).map(|opened| Self::new(opened, path)).map_err(|kind| kind.of(path))
    }

    fn new(opened: Opened, path: &Path) -> Self {
        let Opened { file, version, index, .. } = opened;
        Self { path: path.to_path_buf(), file, version, index }
    }

    /// Returns the path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file that was opened, even if another one has its name by now.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the index of all tensors and the metadata.
    pub fn index(&self) -> &OwnedIndex {
        &self.index
    }

    /// Returns the tensors in the order of their offsets. An empty tensor precedes another one that begins at
    /// the same offset.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = FileTensor<'_>> + DoubleEndedIterator {
        self.index.tensors().map(|tensor| FileTensor { model: self, tensor })
    }

    /// Looks up a tensor. The time does not depend on the number of tensors.
    ///
    /// # Errors
    /// None: the file has been validated.
    pub fn find(&self, name: &str) -> Result<Option<FileTensor<'_>>, Error> {
        Ok(self.index.find(name)?.map(|tensor| FileTensor { model: self, tensor }))
    }

    /// Returns the keys and values of `__metadata__`, if any.
    pub fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        self.index.metadata()
    }

    /// Checks with the system that the file has the same length and was not written to. Then the bytes read
    /// before are those of the validated file, within the time resolution of the file system.
    ///
    /// # Errors
    /// [`FileErrorKind::Changed`](super::FileErrorKind::Changed); those of the system.
    pub fn check_unchanged(&self) -> Result<(), FileError> {
        self.version.check(&self.file).map_err(|kind| kind.of(&self.path))
    }
}

/// Reads the file with positioned reads. The length is always the validated one.
impl ReadAt for &FileModel {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, io::Error> {
        (&self.file).read_at(offset, buffer)
    }

    fn file_len(&mut self) -> Result<FileLen, io::Error> {
        Ok(FileLen::Exactly(self.version.len))
    }
}

impl fmt::Debug for FileModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.tensors().map(|tensor| tensor.name()).collect();
        f.debug_struct("FileModel").field("path", &self.path).field("tensors", &names).finish_non_exhaustive()
    }
}

/// One tensor of a [`FileModel`]: an [`IndexedTensor`], and the model to read its bytes from.
///
/// *Memory*: 64 bytes, `Copy`; everything else is borrowed.
#[derive(Clone, Copy)]
pub struct FileTensor<'m> {
    model: &'m FileModel,
    tensor: IndexedTensor<'m>,
}

impl<'m> FileTensor<'m> {
    /// Returns the model of this tensor: with several files, the one that has it.
    pub fn model(&self) -> &'m FileModel {
        self.model
    }

    /// Returns a reader of the tensor, for bytes, values, rows and slices.
    pub fn reader(&self) -> TensorReader<'m, &'m FileModel> {
        self.model.index.reader(&self.tensor, self.model)
    }
}

impl OwnedIndex {
    /// Returns a reader of a tensor of this index, for programs that have read the header themselves.
    /// `source` is the file of the header. If it is `Copy`, such as a reference, there can be many readers.
    pub fn reader<'t, S: ReadAt>(&self, tensor: &IndexedTensor<'t>, source: S) -> TensorReader<'t, S> {
        let location =
            Location { dtype: tensor.dtype(), header: 0, begin: tensor.begin(), end: tensor.end() };
        // The header has been validated, and its tensors with it.
        let span = Span::of(location, self.summary().data_start);
        TensorReader { source, span, dims: tensor.dims() }
    }
}

impl<'m> Deref for FileTensor<'m> {
    type Target = IndexedTensor<'m>;

    fn deref(&self) -> &IndexedTensor<'m> {
        &self.tensor
    }
}

impl Located for FileTensor<'_> {
    fn locate(&self) -> Result<Location, Error> {
        self.tensor.locate()
    }

    fn dims(&self) -> &[u64] {
        self.tensor.dims()
    }
}

impl fmt::Debug for FileTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tensor.fmt(f)
    }
}
