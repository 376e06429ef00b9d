//! An input of another format than safetensors.

use crate::complaint::Complaint;
use crate::failure::NotRead;
use crate::foreign::Readable;
use crate::overwrite::check_not_input;
use crate::source::Stamp;
use crate::sums::{Trouble, hex_of_file};
use crate::work::Work;
use safetensors_convert::TensorSource;
use safetensors_convert::numpy::Arrays;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// An open input of another format.
pub struct Foreign {
    path: PathBuf,
    format: Readable,
    /// All files that are read.
    files: Vec<Opened>,
    source: Box<dyn TensorSource>,
}

/// A file as it was when it was opened.
struct Opened {
    path: PathBuf,
    file: File,
    stamp: Stamp,
}

impl Opened {
    fn open(path: &Path) -> Result<Self, Complaint> {
        let not_read = |error: io::Error| Complaint::not_read(path, error);
        // Opening a pipe without a writer would block.
        let metadata = std::fs::metadata(path).map_err(not_read)?;
        if metadata.is_dir() {
            return Err(not_read(io::ErrorKind::IsADirectory.into()));
        }
        if !metadata.is_file() {
            return Err(Complaint::about(path, "not a regular file; this format needs random access"));
        }
        let file = File::open(path).map_err(not_read)?;
        let stamp = Stamp::of(&file.metadata().map_err(not_read)?);
        Ok(Self { path: path.to_path_buf(), file, stamp })
    }

    fn check_unchanged(&self) -> Result<(), Complaint> {
        let now = self.file.metadata().map_err(|error| Complaint::not_read(&self.path, error))?;
        match Stamp::of(&now) == self.stamp {
            true => Ok(()),
            false => Err(Complaint::not_read(&self.path, NotRead::changed())),
        }
    }
}

impl Foreign {
    /// Opens an input of this format. The array of a `.npy` gets `name`.
    ///
    /// # Errors
    /// The input cannot be read, is invalid or not allowed, or has contents that safetensors cannot hold.
    pub fn open(path: &Path, format: Readable, name: &str) -> Result<Self, Complaint> {
        let opened = Opened::open(path)?;
        let file = opened.file.try_clone().map_err(|error| Complaint::not_read(path, error))?;
        let source: io::Result<Box<dyn TensorSource>> = match format {
            Readable::Array => Arrays::open_one(file, name).map(boxed),
            Readable::Archive => Arrays::open_many(file).map(boxed),
        };
        let source = source.map_err(|error| Complaint::of_contents(path, format.code(), error))?;
        Ok(Self { path: path.to_path_buf(), format, files: vec![opened], source })
    }

    pub fn source(&self) -> &dyn TensorSource {
        &*self.source
    }

    /// The error for a failed read.
    pub fn complaint(&self, error: io::Error) -> Complaint {
        Complaint::of_contents(&self.path, self.format.code(), error)
    }

    /// # Errors
    /// A file is no longer the one that was opened.
    pub fn check_unchanged(&self) -> Result<(), Complaint> {
        self.files.iter().try_for_each(Opened::check_unchanged)
    }

    /// # Errors
    /// The output is a file of the input.
    pub fn must_not_be(&self, output: &Path) -> Result<(), Complaint> {
        self.files.iter().try_for_each(|file| check_not_input(&file.path, output))
    }

    /// The path, the length and the SHA-256 of each file.
    ///
    /// # Errors
    /// A file cannot be read; interruption by the user.
    pub fn sums(&self, work: &Work) -> Result<Vec<(PathBuf, u64, String)>, Complaint> {
        let sum = |file: &Opened| {
            let sum = hex_of_file(&file.file, file.stamp.len, work);
            let sum = sum.map_err(|trouble: Trouble| trouble.about(&file.path))?;
            Ok((file.path.clone(), file.stamp.len, sum))
        };
        self.files.iter().map(sum).collect()
    }
}

fn boxed<S: TensorSource + 'static>(source: S) -> Box<dyn TensorSource> {
    Box::new(source)
}
