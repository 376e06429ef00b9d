//! One file of a model, on a disk or on a server, and its tensors.

use crate::error::Error;
use crate::error::not_read::NotRead;
use crate::input::remote::{Reader, Storage};
use crate::input::source::Source;
use embedded_safetensors::{
    FileModel, TensorReader,
    index::{IndexedTensor, OwnedIndex},
};
use safetensors_files::padding_in;
use safetensors_remote::SharedFile;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A validated file.
pub enum Part {
    File(FileModel),
    /// A file on a server. The path is shown in messages; the name is as in an index.
    Remote {
        path: PathBuf,
        name: String,
        file: Arc<SharedFile>,
        index: OwnedIndex,
    },
    /// A stream whose data is gone, and the number of spaces at the end of its header.
    Header {
        path: PathBuf,
        index: OwnedIndex,
        room: u64,
    },
}

/// Why a stream has no data.
const GONE: &str = "only its header was kept";

impl Part {
    /// The path as given, or the URL without its query.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(file) => file.path(),
            Self::Remote { path, .. } | Self::Header { path, .. } => path,
        }
    }

    /// The name without its directory: of a shard, as in the index.
    pub fn file_name(&self) -> &OsStr {
        match self {
            Self::File(file) => file.path().file_name().unwrap_or_default(),
            Self::Remote { name, .. } => OsStr::new(name),
            Self::Header { path, .. } => path.as_os_str(),
        }
    }

    pub fn index(&self) -> &OwnedIndex {
        match self {
            Self::File(file) => file.index(),
            Self::Remote { index, .. } | Self::Header { index, .. } => index,
        }
    }

    /// The file on a server.
    pub fn remote(&self) -> Option<&Arc<SharedFile>> {
        if let Self::Remote { file, .. } = self { Some(file) } else { None }
    }

    /// Whether it can be read at any offset, and by threads. Otherwise, if it is long, only in sequence.
    pub fn has_ranges(&self) -> bool {
        self.remote().is_none_or(|file| file.opened().has_ranges())
    }

    /// The tensors in the order of their offsets.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Tensor<'_>> + DoubleEndedIterator {
        self.index().tensors().map(|tensor| Tensor { part: self, tensor })
    }

    /// The tensors in the order of the header.
    pub fn in_header_order(&self) -> impl Iterator<Item = Tensor<'_>> {
        self.index().in_header_order().map(|tensor| Tensor { part: self, tensor })
    }

    /// The tensor of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<Tensor<'_>> {
        let tensor = self.index().find(name).ok()??;
        Some(Tensor { part: self, tensor })
    }

    pub fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        self.index().metadata()
    }

    /// The names of the tensors that are padding.
    ///
    /// # Errors
    /// Their bytes cannot be read.
    pub fn padding(&self) -> Result<HashSet<String>, Error> {
        padding_in(self.index(), self.reader()).map_err(|error| Error::of_file(self.path(), &error))
    }

    /// Reads the file as one that is not validated.
    ///
    /// # Errors
    /// Those of the system or the server.
    pub fn source(&self) -> Result<Source, NotRead> {
        match self {
            Self::File(file) => Source::file(file.file().try_clone()?, &file.file().metadata()?),
            Self::Remote { file, .. } => Source::of_remote(file.clone()),
            Self::Header { .. } => Err(NotRead::because(GONE)),
        }
    }

    /// The number of spaces at the end of the header.
    ///
    /// # Errors
    /// Those of the system or the server.
    pub fn header_room(&self) -> Result<u64, NotRead> {
        if let Self::Header { room, .. } = self { Ok(*room) } else { self.source()?.header_room() }
    }

    /// Reads the file at any offset.
    pub fn reader(&self) -> Reader<'_> {
        Reader::of(match self {
            Self::File(file) => Storage::File(file.file()),
            Self::Remote { file, .. } => Storage::Remote(file),
            Self::Header { .. } => Storage::Nothing(GONE),
        })
    }

    /// Checks that a local file is still the one that was validated. Of a file on a server, each reply is
    /// compared with the first one.
    ///
    /// # Errors
    /// It is not; those of the system.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        if let Self::File(file) = self { Ok(file.check_unchanged()?) } else { Ok(()) }
    }
}

/// One tensor of a model.
#[derive(Clone, Copy)]
pub struct Tensor<'m> {
    part: &'m Part,
    tensor: IndexedTensor<'m>,
}

impl<'m> Tensor<'m> {
    /// Its name, for as long as the model.
    pub fn name(&self) -> &'m str {
        self.tensor.name()
    }

    /// The file that contains it.
    pub fn model(&self) -> &'m Part {
        self.part
    }

    /// Its bytes in the file.
    pub fn in_file(&self) -> Range<u64> {
        let start = self.part.index().summary().data_start;
        start + self.tensor.begin()..start + self.tensor.end()
    }

    /// Reads the tensor, on a server with one request.
    pub fn reader(&self) -> TensorReader<'m, Reader<'m>> {
        self.part.index().reader(&self.tensor, self.part.reader().until(self.in_file().end))
    }

    /// Reads these bytes of the file, each run on a server with one request.
    pub fn reader_within<'r>(&self, runs: &'r [Range<u64>]) -> TensorReader<'r, Reader<'r>>
    where
        'm: 'r,
    {
        self.part.index().reader(&self.tensor, self.part.reader().within(runs))
    }
}

impl<'m> Deref for Tensor<'m> {
    type Target = IndexedTensor<'m>;

    fn deref(&self) -> &IndexedTensor<'m> {
        &self.tensor
    }
}
