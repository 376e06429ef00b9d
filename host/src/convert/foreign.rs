//! An input of another format than safetensors.

use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::foreign::Readable;
use crate::input::remote::check_local;
use crate::input::source::Stamp;
use crate::output::overwrite::check_not_input;
use crate::tensor::sums::sum_of_file;
use crate::work::Work;
use safetensors_convert::TensorSource;
use safetensors_convert::error::within;
use safetensors_convert::gguf::{self, Quantised};
use safetensors_convert::numpy::Arrays;
use safetensors_convert::tensorflow;
use safetensors_convert::torch::{self, Ties};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// An open input of another format.
pub struct Foreign {
    path: PathBuf,
    format: Readable,
    /// All files that are read.
    files: Vec<Opened>,
    contents: Contents,
}

/// What an input has.
struct Contents {
    source: Box<dyn TensorSource>,
    left_out: LeftOut,
    /// The indexes of tied tensors that are kept, and those of the tensors that they are tied to.
    copies: Vec<(u32, u32)>,
    /// Which file of a GGUF of several it is.
    split: Option<gguf::Split>,
}

impl Contents {
    fn of(source: impl TensorSource + 'static) -> Self {
        Self { source: Box::new(source), left_out: LeftOut::default(), copies: Vec::new(), split: None }
    }
}

/// A file as it was when it was opened.
struct Opened {
    path: PathBuf,
    file: File,
    stamp: Stamp,
}

impl Opened {
    fn open(path: &Path) -> io::Result<Self> {
        // Opening a pipe without a writer would block.
        let metadata = std::fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            return Err(io::Error::other("not a regular file; this format needs random access"));
        }
        let file = File::open(path)?;
        let stamp = Stamp::of(&file.metadata()?);
        Ok(Self { path: path.to_path_buf(), file, stamp })
    }

    fn check_unchanged(&self) -> Result<(), Error> {
        let now = self.file.metadata().map_err(|error| Error::not_read(&self.path, error))?;
        match Stamp::of(&now) == self.stamp {
            true => Ok(()),
            false => Err(Error::not_read(&self.path, NotRead::changed())),
        }
    }
}

/// How files of other formats are read.
#[derive(Clone, Copy, Default)]
pub struct Reading<'r> {
    /// The name of the array of a `.npy`.
    pub name: &'r str,
    /// What becomes of tied tensors of PyTorch.
    pub ties: Ties,
    /// Whether quantised tensors of GGUF stay as they are.
    pub keeps_blocks: bool,
    /// Whether metadata is left out.
    pub without_metadata: bool,
}

/// Values of an input that safetensors cannot hold.
#[derive(Default)]
pub struct LeftOut {
    /// All, or the first of them: the keys on the way, and the type.
    pub values: Vec<(String, &'static str)>,
    pub count: u64,
}

impl LeftOut {
    fn of_pytorch(checkpoint: &torch::Checkpoint) -> Self {
        let values = checkpoint.left_out().iter().map(|value| (value.path.clone(), value.kind));
        Self { values: values.collect(), count: checkpoint.left_out_count() }
    }

    fn of_tensorflow(checkpoint: &tensorflow::Checkpoint) -> Self {
        let names = checkpoint.strings();
        let values = names.iter().map(|name| (name.clone(), "string")).collect();
        Self { values, count: names.len() as u64 }
    }
}

impl Foreign {
    /// Opens an input of this format.
    ///
    /// # Errors
    /// The input cannot be read, is invalid or not allowed, or has contents that safetensors cannot hold.
    pub fn open(path: &Path, format: Readable, reading: Reading<'_>) -> Result<Self, Error> {
        check_local(path).map_err(|reason| Error::not_read(path, reason))?;
        let mut files = Vec::new();
        let mut open = |path: &Path| {
            let opened = Opened::open(path)?;
            let file = opened.file.try_clone();
            files.push(opened);
            file
        };
        let contents = match open_source(path, format, reading, &mut open) {
            Ok(contents) => contents,
            Err(error) => return Err(complaint(path, format, error)),
        };
        Ok(Self { path: path.to_path_buf(), format, files, contents })
    }

    /// The values that are left out.
    pub fn left_out(&self) -> &LeftOut {
        &self.contents.left_out
    }

    pub fn format(&self) -> Readable {
        self.format
    }

    pub fn split(&self) -> Option<gguf::Split> {
        self.contents.split
    }

    /// The names of tied tensors, and those of the tensors that they are tied to.
    pub fn ties(&self) -> impl Iterator<Item = (&str, &str)> {
        let notes = if self.has_names_in_metadata() { self.source().metadata() } else { &[] };
        let notes = notes.iter().map(|(name, other)| (&**name, &**other));
        let name = |index: u32| Some(&*self.source().tensors().get(usize::try_from(index).ok()?)?.name);
        let copies = self.contents.copies.iter();
        notes.chain(copies.filter_map(move |(index, other)| Some((name(*index)?, name(*other)?))))
    }

    /// Whether tied tensors are kept.
    pub fn has_copies(&self) -> bool {
        !self.contents.copies.is_empty()
    }

    /// Whether keys and values of the metadata are names of tensors, as those of tied ones are.
    pub fn has_names_in_metadata(&self) -> bool {
        self.format == Readable::PyTorch
    }

    pub fn source(&self) -> &dyn TensorSource {
        &*self.contents.source
    }

    /// The error for a failed read.
    pub fn complaint(&self, error: io::Error) -> Error {
        complaint(&self.path, self.format, error)
    }

    /// # Errors
    /// A file is no longer the one that was opened.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.files.iter().try_for_each(Opened::check_unchanged)
    }

    /// # Errors
    /// The output is a file of the input.
    pub fn must_not_be(&self, output: &Path) -> Result<(), Error> {
        self.files.iter().try_for_each(|file| check_not_input(&file.path, output))
    }

    /// The path, the length and the SHA-256 of each file.
    ///
    /// # Errors
    /// A file cannot be read; interruption by the user.
    pub fn sums(&self, work: &Work) -> Result<Vec<(PathBuf, u64, String)>, Error> {
        let sum = |file: &Opened| {
            let sum = sum_of_file(&file.path, &file.file, file.stamp.len, work)?;
            Ok((file.path.clone(), file.stamp.len, sum))
        };
        self.files.iter().map(sum).collect()
    }
}

/// The error of a reader, with the name of the format.
fn complaint(path: &Path, format: Readable, error: io::Error) -> Error {
    Error::of_contents(path, format.code(), within(format.name(), error))
}

/// Opens an input; `open` opens its files.
fn open_source(
    path: &Path,
    format: Readable,
    reading: Reading<'_>,
    open: &mut dyn FnMut(&Path) -> io::Result<File>,
) -> io::Result<Contents> {
    Ok(match format {
        Readable::Array => Contents::of(Arrays::open_one(open(path)?, reading.name)?),
        Readable::Archive => Contents::of(Arrays::open_many(open(path)?)?),
        Readable::PyTorch => {
            let checkpoint = torch::Checkpoint::open_with(open(path)?, reading.ties)?;
            let (left_out, copies) = (LeftOut::of_pytorch(&checkpoint), checkpoint.copies().to_vec());
            Contents { left_out, copies, ..Contents::of(checkpoint) }
        }
        Readable::Gguf => {
            let quantised = if reading.keeps_blocks { Quantised::Raw } else { Quantised::F32 };
            let options = gguf::Options { quantised, without_metadata: reading.without_metadata };
            let gguf = gguf::Gguf::open(open(path)?, &options)?;
            Contents { split: gguf.split(), ..Contents::of(gguf) }
        }
        Readable::TensorFlow => {
            let checkpoint = tensorflow::Checkpoint::open(path, tensorflow::Names::default(), open)?;
            let left_out = LeftOut::of_tensorflow(&checkpoint);
            Contents { left_out, ..Contents::of(checkpoint) }
        }
    })
}
