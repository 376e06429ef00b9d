//! A model in a file, by positioned reads, with its names and shapes on the heap.

use super::error::FileError;
use super::open::{Opened, Version};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::index::{IndexedTensor, OwnedIndex};
use crate::io::{FileLen, ReadAt};
use crate::reader::tensor::TensorReader;
use crate::tensor::info::TensorInfo;
use crate::tensor::location::{Located, Location};
use crate::tensor::span::Span;
use crate::validate::Summary;
use core::fmt;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

/// A model in a file: validated, its tensors listed and found by name, their data read when they are asked for and not before.
///
/// ```
/// use embedded_safetensors::{FileModel, slice::AxisRange};
/// # let path = std::env::temp_dir().join(format!("file-model-{}", std::process::id()));
/// # let header = br#"{"embed.weight":{"dtype":"F16","shape":[200,2],"data_offsets":[0,800]}}"#;
/// # std::fs::write(&path, [&(header.len() as u64).to_le_bytes(), &header[..], &[0; 800]].concat())?;
///
/// let model = FileModel::open(&path)?;
/// for tensor in model.tensors() {
///     println!("{} {} {:?}", tensor.name(), tensor.dtype(), tensor.dims());
/// }
/// let embedding = model.find("embed.weight")?.ok_or("no embedding")?;
/// let rows: Vec<f32> = embedding.reader().slice(&[(100..200).into(), AxisRange::ALL])?.values().read_to_vec()?;
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Every read goes to the file, at the place where it is wanted: nothing is mapped, so that a file on a disk of the network, or one that somebody
/// cuts off, is an error of a read and no more. Threads may read one model at once.
///
/// *Memory*: an [`OwnedIndex`], and while it is opened the header; one open file.
pub struct FileModel {
    path: PathBuf,
    file: File,
    version: Version,
    index: OwnedIndex,
}

impl FileModel {
    /// Opens a file and validates its header, which alone is read: what [`validate`](crate::validate::validate()) says of the whole file. Nothing is written. If an
    /// edit in place has left the header half written, that is an error, and `ModelEditor::recover` in the crate `safetensors-files` repairs it.
    ///
    /// # Errors
    /// [`FileErrorKind::Format`](super::FileErrorKind::Format) for a file that is unsound, [`FileErrorKind::Twice`](super::FileErrorKind::Twice) for one that has a name or a key of
    /// `__metadata__` twice; [`FileErrorKind::NotAFile`](super::FileErrorKind::NotAFile); [`FileErrorKind::Interrupted`](super::FileErrorKind::Interrupted); those of the system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        Opened::at(path).map(|opened| Self::new(opened, path)).map_err(|fault| fault.of(path))
    }

    /// The same of a file that is open already and has no name, or is known by this one.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for a header that is half written.
    pub fn from_file(file: File, name: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = name.as_ref();
        Opened::of(file).map(|opened| Self::new(opened, path)).map_err(|fault| fault.of(path))
    }

    fn new(opened: Opened, path: &Path) -> Self {
        let Opened { file, version, index, .. } = opened;
        Self { path: path.to_path_buf(), file, version, index }
    }

    /// The path that was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that was opened, whatever has its name by now.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// All tensors and the metadata.
    pub fn index(&self) -> &OwnedIndex {
        &self.index
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

    /// The tensors in the order of their offsets. Empty ones come before the one that begins where they lie.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = FileTensor<'_>> + DoubleEndedIterator {
        self.index.tensors().map(|tensor| FileTensor { model: self, tensor })
    }

    /// The tensor of this name. Takes the same time however many there are.
    ///
    /// # Errors
    /// None: the file has been validated.
    pub fn find(&self, name: &str) -> Result<Option<FileTensor<'_>>, Error> {
        Ok(self.index.find(name)?.map(|tensor| FileTensor { model: self, tensor }))
    }

    /// The keys and values of `__metadata__`, if there is any.
    pub fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        self.index.metadata()
    }

    /// Asks the system whether the file is as long as it was, and has not been written to. What was read before that is of the file that was
    /// validated, as far as the system notes the time of changes.
    ///
    /// # Errors
    /// [`FileErrorKind::Changed`](super::FileErrorKind::Changed); those of the system.
    pub fn check_unchanged(&self) -> Result<(), FileError> {
        self.version.check(&self.file).map_err(|fault| fault.of(&self.path))
    }
}

/// By positioned reads of the file. It has the length that was validated, whatever became of it.
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

/// One tensor of a [`FileModel`].
///
/// *Memory*: 64 bytes, `Copy`; all else is borrowed.
#[derive(Clone, Copy)]
pub struct FileTensor<'m> {
    model: &'m FileModel,
    tensor: IndexedTensor<'m>,
}

impl<'m> FileTensor<'m> {
    /// The model that it is in: of several files the one.
    pub fn model(&self) -> &'m FileModel {
        self.model
    }

    /// The name.
    pub fn name(&self) -> &'m str {
        self.tensor.name()
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.tensor.dtype()
    }

    /// The dimensions, outermost first. There may be any number of them.
    pub fn dims(&self) -> &'m [u64] {
        self.tensor.dims()
    }

    /// First byte, counted from the start of the data.
    pub fn begin(&self) -> u64 {
        self.tensor.begin()
    }

    /// First byte behind the tensor, counted from the start of the data.
    pub fn end(&self) -> u64 {
        self.tensor.end()
    }

    /// Length in bytes.
    pub fn byte_len(&self) -> u64 {
        self.tensor.byte_len()
    }

    /// How many elements it has.
    pub fn elements(&self) -> u64 {
        self.tensor.elements()
    }

    /// The same in one value that borrows nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] when there are more dimensions than a [`Shape`](crate::Shape) holds.
    pub fn info(&self) -> Result<TensorInfo, ErrorKind> {
        self.tensor.info()
    }

    /// Reads the tensor: bytes, values, rows, slices.
    pub fn reader(&self) -> TensorReader<'m, &'m FileModel> {
        let Self { model, tensor } = *self;
        let place = Location { dtype: tensor.dtype(), begin: tensor.begin(), end: tensor.end() };
        // The model has been validated, and its tensors with it.
        TensorReader::new(model, Span::of(place, model.summary().data_start), tensor.dims())
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
