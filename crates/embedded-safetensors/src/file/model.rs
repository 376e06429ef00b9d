//! A model in a file, by positioned reads, with its names and shapes on the heap.

use super::disk::{Disk, Handle, Version};
use super::draft::refusal;
use super::error::{FileError, FileFault};
use super::header::{self, Contents, Held, Pairs};
use super::opened::Opened;
use super::padding;
use super::places::Places;
use super::system::System;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::io::{FileLen, ReadAt};
use crate::reader::tensor::TensorReader;
use crate::shape::Shape;
use crate::tensor::info::{Extent, TensorInfo};
use crate::tensor::location::{Locate, Location};
use crate::tensor::span::Span;
use crate::validate::Summary;
use core::fmt;
use std::boxed::Box;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

/// A model in a file: opened and proven, its tensors listed and found by name, their data read when they are asked for and not before.
///
/// ```
/// use embedded_safetensors::{FileModel, slice::AxisRange};
/// # use embedded_safetensors::{Dtype, file::write_file, write::{FileSpec, TensorSpec}};
/// # let path = std::env::temp_dir().join(format!("file-model-{}", std::process::id()));
/// # let tensors = [TensorSpec::new("embed.weight", Dtype::F16, &[200, 2])];
/// # write_file(&path, FileSpec::new(&tensors), |file| file.write_tensor("embed.weight", &[0; 800]))?;
///
/// let model = FileModel::open(&path)?;
/// for tensor in model.tensors() {
///     println!("{} {} {:?}", tensor.name(), tensor.dtype(), tensor.dims());
/// }
/// let embedding = model.tensor("embed.weight").ok_or("no embedding")?;
/// let mut rows = [0f32; 200];
/// embedding.reader().slice(&[(100..200).into(), AxisRange::ALL])?.read_lossless(&mut rows)?;
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Every read goes to the file, at the place where it is wanted: nothing is mapped, so that a file on a disk of the network, or one that somebody
/// cuts off, is an error of a read and no more. Threads may read one model at once.
///
/// *Memory*: the names, shapes and metadata, and while it is opened the header, twice; one open file.
pub struct FileModel {
    path: PathBuf,
    file: Box<dyn Handle>,
    version: Version,
    summary: Summary,
    /// By their offsets.
    tensors: Vec<(String, Held)>,
    /// By their names.
    places: Places,
    metadata: Option<Pairs>,
}

impl FileModel {
    /// Opens a file, of which only the header is read, and proves it: what [`check`](crate::validate::check()) says of the whole file. As with
    /// [`Draft::open`](crate::file::Draft::open), other programs may edit the header in place meanwhile.
    ///
    /// # Errors
    /// [`FileFault::Format`] for a file that is unsound, [`FileFault::Twice`] for one that has a name or a key of `__metadata__` twice;
    /// [`FileFault::NotAFile`]; those of the system.
    ///
    /// # Panics
    /// Never.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        Self::open_on(&System, path).map_err(|fault| fault.of(path))
    }

    /// The same of a file that is open already and has no name, or is known by this one.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for a header that is edited while it is read.
    ///
    /// # Panics
    /// Never.
    pub fn from_file(file: File, name: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = name.as_ref();
        Self::read(Box::new(file), path).map_err(|fault| fault.of(path))
    }

    fn open_on(disk: &dyn Disk, path: &Path) -> Result<Self, FileFault> {
        let place = disk.resolve(path).map_err(|error| FileFault::system("open", error))?;
        Self::prove(Opened::at(disk, &place)?, path)
    }

    fn read(file: Box<dyn Handle>, path: &Path) -> Result<Self, FileFault> {
        let stat = file.stat().map_err(|error| FileFault::system("look at", error))?;
        match stat.other {
            Some(what) => Err(FileFault::NotAFile { what }),
            None => {
                let header = header::read(&*file)?;
                Self::prove(Opened { file, version: stat.version, header }, path)
            }
        }
    }

    fn prove(opened: Opened, path: &Path) -> Result<Self, FileFault> {
        let Opened { file, version, header } = opened;
        let (summary, contents) =
            header::contents(&header, version.len).map_err(|error| refusal(error, &header))?;
        let Contents { mut tensors, metadata, .. } = contents;
        tensors.shrink_to_fit();
        tensors.sort_by(|(name, held), (other_name, other)| {
            (held.begin, held.end, name).cmp(&(other.begin, other.end, other_name))
        });
        let places = Places::of(tensors.iter().map(|(name, _)| name.as_str()));
        Ok(Self { path: path.to_path_buf(), file, version, summary, tensors, places, metadata })
    }

    /// The path that was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many tensors there are, and where their data lie.
    pub fn summary(&self) -> Summary {
        self.summary
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The tensors in the order of their offsets; those that have the same, which are empty, in the order of their names.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = FileTensor<'_>> + DoubleEndedIterator {
        self.tensors.iter().map(|(name, held)| FileTensor { model: self, name, held })
    }

    /// The tensor of this name, if there is one. Takes the same time however many there are.
    pub fn tensor(&self, name: &str) -> Option<FileTensor<'_>> {
        let (name, held) = self.named(name)?;
        Some(FileTensor { model: self, name, held })
    }

    fn named(&self, name: &str) -> Option<&(String, Held)> {
        let mut candidates = self.places.of_name(name).map_while(|place| self.tensors.get(place));
        candidates.find(|(candidate, _)| candidate == name)
    }

    /// Returns the names of the tensors that are padding, as [`Draft::padding`](crate::file::Draft::padding) recognizes it. Of the data, only the bytes of tensors that
    /// may be padding are read.
    ///
    /// *Memory*: the names; while it runs 64 KiB and 8 bytes for each tensor, if a tensor may be padding.
    ///
    /// # Errors
    /// [`FileFault::Changed`] when the file has become shorter; those of the system.
    ///
    /// # Panics
    /// Never.
    pub fn padding(&self) -> Result<HashSet<String>, FileError> {
        let find = |name: &str| self.named(name).map(|(_, held)| held);
        let all = self.tensors.iter().map(|(_, held)| held);
        let names = padding::names(&*self.file, self.summary.data_start, find, all);
        names.map(HashSet::from_iter).map_err(|fault| fault.of(&self.path))
    }

    /// What stands in `__metadata__`, if there is any.
    pub fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        self.metadata.as_ref()
    }

    /// Asks the system whether the file is as long as it was, and has not been written to. What was read before that is of the file that was
    /// proven, as far as the system notes the time of changes.
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
}

/// By positioned reads of the file. It has the length that was proven, whatever became of it.
impl ReadAt for &FileModel {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, io::Error> {
        loop {
            match self.file.read_at(offset, buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
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
/// *Memory*: 32 bytes, `Copy`; all else is borrowed.
#[derive(Clone, Copy)]
pub struct FileTensor<'m> {
    model: &'m FileModel,
    name: &'m str,
    held: &'m Held,
}

impl<'m> FileTensor<'m> {
    /// The name.
    pub fn name(&self) -> &'m str {
        self.name
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.held.dtype
    }

    /// The dimensions, outermost first. There may be any number of them.
    pub fn dims(&self) -> &'m [u64] {
        &self.held.dims
    }

    /// First byte, counted from the start of the data.
    pub fn begin(&self) -> u64 {
        self.held.begin
    }

    /// First byte behind the tensor, counted from the start of the data.
    pub fn end(&self) -> u64 {
        self.held.end
    }

    /// Length in bytes.
    pub fn byte_len(&self) -> u64 {
        self.held.end.saturating_sub(self.held.begin)
    }

    /// The same in one value that borrows nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Rank`] when there are more dimensions than a [`Shape`] holds.
    pub fn info(&self) -> Result<TensorInfo, ErrorKind> {
        let place = Extent { begin: self.held.begin, end: self.held.end, begin_at: 0 };
        Ok(TensorInfo::checked(self.held.dtype, Shape::new(&self.held.dims)?, place))
    }

    /// Reads the tensor: bytes, values, rows, slices.
    pub fn reader(&self) -> TensorReader<'m, &'m FileModel> {
        // The model has been proven, and its tensors with it.
        let span = Span::of(self.location(), self.model.summary.data_start);
        TensorReader::new(self.model, span, &self.held.dims)
    }

    fn location(&self) -> Location {
        Location { dtype: self.held.dtype, begin: self.held.begin, end: self.held.end }
    }
}

impl Locate for FileTensor<'_> {
    fn locate(&self) -> Result<Location, Error> {
        Ok(self.location())
    }

    fn dims(&self) -> &[u64] {
        &self.held.dims
    }
}

impl fmt::Debug for FileTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Held { dtype, dims, begin, end, .. } = self.held;
        write!(f, "FileTensor {{ name: {:?}, dtype: {dtype}, dims: {dims:?}, {begin}..{end} }}", self.name)
    }
}
