//! Reads a model in several files as one.

use super::error::ShardErrorKind;
use super::index::ShardIndex;
use super::limits::ShardLimits;
use crate::error::{At, Doing, EditError, EditErrorKind};
use core::fmt;
use embedded_safetensors::Error;
use embedded_safetensors::file::{FileError, FileErrorKind, FileModel, FileTensor};
use embedded_safetensors::index::OwnedIndex;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const INDEX: &str = "model.safetensors.index.json";
const INDEX_END: &str = ".safetensors.index.json";

/// A model in several files with an index. All files are opened and validated, and match the index.
///
/// *Memory*: the index, and for each shard a [`FileModel`], which has its file open.
pub struct ShardedModel {
    /// The path of the index.
    path: PathBuf,
    index: ShardIndex,
    /// In the index's order.
    shards: Vec<FileModel>,
    metadata: Option<BTreeMap<String, String>>,
}

impl ShardedModel {
    /// Opens a model by the path of its index or of its directory. In a directory, the index is
    /// `model.safetensors.index.json`, or else the only `*.safetensors.index.json`. The header of each shard
    /// is validated. Then this checks that each tensor is in the shard that the index lists, that there are
    /// no other tensors, and that `total_size`, if present, is the length of the tensors.
    ///
    /// # Errors
    /// Those of [`ShardIndex::open`] and [`FileModel::open`]; [`ShardErrorKind::NoIndex`],
    /// [`ShardErrorKind::ManyIndexes`]; [`ShardErrorKind::MissingShard`], [`ShardErrorKind::TooManyOpen`],
    /// [`ShardErrorKind::Tensor`], [`ShardErrorKind::TotalSize`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, EditError> {
        Self::open_within(path, &ShardLimits::USUAL)
    }

    /// Opens a model as [`open`](Self::open) does, with other limits.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_within(path: impl AsRef<Path>, limits: &ShardLimits) -> Result<Self, EditError> {
        let given = path.as_ref();
        let path = find_index(given).at(given)?;
        let index = ShardIndex::open(&path, limits)?;
        let shards = open_shards(&index, &path)?;
        let headers: Vec<&OwnedIndex> = shards.iter().map(FileModel::index).collect();
        index.check(&headers).at(&path)?;
        let metadata = metadata_of(&shards);
        Ok(Self { path, index, shards, metadata })
    }

    /// Returns the path of the index.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the index.
    pub fn index(&self) -> &ShardIndex {
        &self.index
    }

    /// Returns the shards, in the order of their first occurrence in the index.
    pub fn shards(&self) -> &[FileModel] {
        &self.shards
    }

    /// Returns the shards, in the same order, as models of their own.
    pub fn into_shards(self) -> Vec<FileModel> {
        self.shards
    }

    /// Returns the number of tensors.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns whether there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns all tensors: shard by shard, in the order of their offsets.
    pub fn tensors(&self) -> impl Iterator<Item = FileTensor<'_>> {
        self.shards.iter().flat_map(FileModel::tensors)
    }

    /// Looks up a tensor. The time does not depend on the number of tensors.
    ///
    /// # Errors
    /// None: the model has been validated.
    pub fn find(&self, name: &str) -> Result<Option<FileTensor<'_>>, Error> {
        self.shard_of(name).map_or(Ok(None), |shard| shard.find(name))
    }

    /// Returns the shard of the tensor of this name.
    pub fn shard_of(&self, name: &str) -> Option<&FileModel> {
        self.shards.get(self.index.shard_number(name)?)
    }

    /// Returns the combined `__metadata__` of all shards, if any. If two shards have different values for a
    /// key, the first one is used.
    pub fn metadata(&self) -> Option<&BTreeMap<String, String>> {
        self.metadata.as_ref()
    }

    /// Checks with the system that all shards are unchanged, as [`FileModel::check_unchanged`] does.
    ///
    /// # Errors
    /// As [`FileModel::check_unchanged`], for the first shard that was changed.
    pub fn check_unchanged(&self) -> Result<(), FileError> {
        self.shards.iter().try_for_each(FileModel::check_unchanged)
    }
}

/// Returns the path of the index for the given path.
fn find_index(path: &Path) -> Result<PathBuf, EditErrorKind> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let standard = path.join(INDEX);
    // A dangling link is an error of this index, not a reason to open another one.
    match fs::symlink_metadata(&standard) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        _ => return Ok(standard),
    }
    let mut names = indexes_in(path).doing("list")?;
    names.sort();
    match names.as_slice() {
        [] => Err(ShardErrorKind::NoIndex.into()),
        [name] => Ok(path.join(name)),
        [one, other, ..] => Err(ShardErrorKind::ManyIndexes([one.clone(), other.clone()]).into()),
    }
}

fn indexes_in(directory: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
    let names: io::Result<Vec<Option<String>>> = entries.collect();
    Ok(names?.into_iter().flatten().filter(|name| name.ends_with(INDEX_END)).collect())
}

fn open_shards(index: &ShardIndex, path: &Path) -> Result<Vec<FileModel>, EditError> {
    let directory = path.parent().unwrap_or(Path::new(""));
    let shards = index.shards().len();
    let mut opened = Vec::with_capacity(shards);
    for name in index.shards() {
        let shard = FileModel::open(directory.join(name)).map_err(|error| match error.kind() {
            FileErrorKind::System { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                index.missing(name).of(path)
            }
            FileErrorKind::System { error: reason, .. } if is_open_file_limit(reason) => {
                let (open, error) = (opened.len(), error.into());
                EditErrorKind::from(ShardErrorKind::TooManyOpen { open, shards, error }).of(path)
            }
            _ => error.into(),
        });
        opened.push(shard?);
    }
    Ok(opened)
}

/// Returns whether the error is EMFILE or ENFILE, or that of Windows. The standard library has no error kind
/// for it.
fn is_open_file_limit(error: &io::Error) -> bool {
    let codes: &[i32] = if cfg!(windows) { &[4] } else { &[23, 24] };
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

fn metadata_of(shards: &[FileModel]) -> Option<BTreeMap<String, String>> {
    let all: Vec<_> = shards.iter().filter_map(FileModel::metadata).collect();
    let pairs = all.iter().rev().flat_map(|pairs| pairs.iter());
    let pairs = pairs.map(|(key, value)| (key.clone(), value.clone())).collect();
    (!all.is_empty()).then_some(pairs)
}

impl fmt::Debug for ShardedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardedModel")
            .field("path", &self.path)
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
