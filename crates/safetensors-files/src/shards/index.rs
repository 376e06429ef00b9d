//! The index of a model in several files.

use super::compare::compare;
use super::error::ShardErrorKind;
use super::limits::ShardLimits;
use super::scan::check;
use super::{read, write};
use crate::atomic::{Hidden, Replacement, stat_file};
use crate::disk::Disk;
use crate::error::{At, Doing, EditError, EditErrorKind};
use crate::name::unsafe_reason;
use crate::system::System;
use core::fmt;
use embedded_safetensors::index::OwnedIndex;
use serde_json::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// The index of a model in several files (`model.safetensors.index.json`), which lists the file of each
/// tensor. It is compared with the files when the model is opened as a
/// [`ShardedModel`](crate::shards::ShardedModel).
///
/// ```
/// use safetensors_files::shards::{ShardIndex, ShardLimits};
///
/// let text = r#"{
///     "metadata": {"total_size": 8},
///     "weight_map": {"a": "m-00001-of-00002.safetensors", "b": "m-00002-of-00002.safetensors"}
/// }"#;
/// let index = ShardIndex::read(text.as_bytes(), &ShardLimits::USUAL)?;
/// assert_eq!(index.shard_of("b"), Some("m-00002-of-00002.safetensors"));
/// assert_eq!(index.total_size(), Some(8));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// *Memory*: the names, each once, and `metadata`, on the heap.
#[derive(Clone, Default)]
pub struct ShardIndex {
    metadata: Vec<(String, Value)>,
    total_size: Option<u64>,
    tensors: HashMap<String, Assignment>,
    shards: Vec<String>,
    /// The indices of the shards by their names.
    numbers: HashMap<String, usize>,
}

/// The shard of a tensor.
#[derive(Clone, Copy)]
struct Assignment {
    /// The number of tensors before it.
    order: usize,
    shard: usize,
}

const TOTAL_SIZE: &str = "total_size";
/// The number of characters shown of an invalid `total_size`.
const SHOWN: usize = 40;

impl ShardIndex {
    /// Creates an index without tensors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads an index from a file, piece by piece.
    ///
    /// # Errors
    /// As [`read`](Self::read);
    /// [`FileErrorKind::NotAFile`](embedded_safetensors::file::FileErrorKind::NotAFile).
    pub fn open(path: impl AsRef<Path>, limits: &ShardLimits) -> Result<Self, EditError> {
        let path = path.as_ref();
        Self::open_file(path, limits).at(path)
    }

    fn open_file(path: &Path, limits: &ShardLimits) -> Result<Self, EditErrorKind> {
        let len = stat_file(&System, path)?.map_or(0, |stat| stat.version.len);
        check("bytes", limits.bytes, len)?;
        let file = File::open(path).doing("open")?;
        read::read(file, limits)
    }

    /// Reads an index, piece by piece. It holds 8 KiB of the text and one name at a time. A `metadata` of
    /// `null` counts as absent.
    ///
    /// # Errors
    /// [`ShardErrorKind::Json`], [`ShardErrorKind::Duplicate`], [`ShardErrorKind::UnsafeName`],
    /// [`ShardErrorKind::NoSize`]; [`ShardErrorKind::Limit`]; those of the reader.
    pub fn read(reader: impl Read, limits: &ShardLimits) -> Result<Self, EditError> {
        read::read(reader, limits).at(Path::new("index"))
    }

    /// Checks that the index matches its shards, which are in its order, and that `total_size`, if present,
    /// is the length of the tensors.
    ///
    /// # Errors
    /// The first mismatch: [`ShardErrorKind::Tensor`], then [`ShardErrorKind::TotalSize`].
    pub fn check(&self, shards: &[&OwnedIndex]) -> Result<(), EditErrorKind> {
        Ok(compare(self, shards)?)
    }

    /// Returns the error of a shard that does not exist.
    pub fn missing(&self, shard: &str) -> EditErrorKind {
        let tensors = self.tensors().filter(|(_, found)| *found == shard).count();
        ShardErrorKind::MissingShard { shard: shard.into(), tensors }.into()
    }

    /// Adds a tensor that is in this shard.
    ///
    /// # Errors
    /// [`ShardErrorKind::Duplicate`] for a tensor that already exists; [`ShardErrorKind::UnsafeName`] for an
    /// unsafe name of a shard. Then nothing is changed.
    pub fn insert(&mut self, tensor: impl Into<String>, shard: &str) -> Result<(), EditError> {
        self.add(tensor.into(), shard).at(Path::new(shard))
    }

    pub(super) fn add(&mut self, tensor: String, shard: &str) -> Result<(), ShardErrorKind> {
        let known = self.numbers.get(shard).copied();
        if known.is_none() {
            check_name(shard)?;
        }
        let (order, number) = (self.tensors.len(), known.unwrap_or(self.shards.len()));
        match self.tensors.entry(tensor) {
            Entry::Occupied(taken) => return Err(ShardErrorKind::Duplicate(taken.key().clone())),
            Entry::Vacant(free) => free.insert(Assignment { order, shard: number }),
        };
        if known.is_none() {
            self.shards.push(shard.into());
            self.numbers.insert(shard.into(), number);
        }
        Ok(())
    }

    /// Sets a member of `metadata`. A new one is added at the end.
    ///
    /// # Errors
    /// [`ShardErrorKind::NoSize`] for a `total_size` that is not a number of bytes.
    pub fn set_metadata(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Result<(), EditError> {
        let (key, value) = (key.into(), value.into());
        let size = total_size_of(&key, &value);
        let size = size.at(Path::new("metadata"))?;
        self.total_size = size.or(self.total_size);
        match self.metadata.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => self.metadata.push((key, value)),
        }
        Ok(())
    }

    /// Adds a member of `metadata` whose key is new.
    pub(super) fn add_metadata(&mut self, key: String, value: Value) -> Result<(), ShardErrorKind> {
        self.total_size = total_size_of(&key, &value)?.or(self.total_size);
        self.metadata.push((key, value));
        Ok(())
    }

    /// Returns `total_size`, the length of all tensors in bytes, if present.
    pub fn total_size(&self) -> Option<u64> {
        self.total_size
    }

    /// Returns the members of `metadata`, in the order of the index.
    pub fn metadata(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.metadata.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Returns whether there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Returns the shards, in the order of their first occurrence.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = &str> {
        self.shards.iter().map(String::as_str)
    }

    /// Returns the tensors with their shards, in the order of the index.
    ///
    /// *Memory*: 40 bytes for each tensor, on the heap.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        let mut tensors: Vec<(usize, &str, &str)> = self
            .tensors
            .iter()
            .map(|(name, assignment)| (assignment.order, name.as_str(), self.shard(assignment)))
            .collect();
        tensors.sort_unstable_by_key(|&(order, ..)| order);
        tensors.into_iter().map(|(_, name, shard)| (name, shard))
    }

    /// Returns the shard of a tensor.
    pub fn shard_of(&self, tensor: &str) -> Option<&str> {
        self.tensors.get(tensor).map(|assignment| self.shard(assignment))
    }

    /// Returns the index of the shard of a tensor.
    pub(super) fn shard_number(&self, tensor: &str) -> Option<usize> {
        self.tensors.get(tensor).map(|assignment| assignment.shard)
    }

    fn shard(&self, assignment: &Assignment) -> &str {
        self.shards.get(assignment.shard).map_or("", String::as_str)
    }

    /// Writes the index with the same bytes as the Python package `huggingface_hub` if all numbers are
    /// integers. Other members of an index that was read, beside `metadata` and `weight_map`, are not
    /// written.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, writer: impl Write) -> io::Result<()> {
        write::write(self, writer)
    }

    /// Writes and syncs the index under a hidden name.
    pub(super) fn beside<'d>(&self, disk: &'d dyn Disk, path: &Path) -> Result<Hidden<'d>, EditErrorKind> {
        let mut text = Vec::new();
        self.write(&mut text).map_err(EditErrorKind::Input)?;
        let file = Replacement::begin(disk, path)?;
        file.file().write_at(0, &text).doing("write")?;
        file.close()
    }
}

/// Rejects a name that leads, on this system or another, to something other than a file in the directory of
/// the index or below it.
pub(super) fn check_name(name: &str) -> Result<(), ShardErrorKind> {
    let rejected = |reason| Err(ShardErrorKind::UnsafeName { name: name.into(), reason });
    unsafe_reason(name).map_or(Ok(()), rejected)
}

/// Returns the number of bytes if the key is `total_size`.
///
/// # Errors
/// When the key is `total_size` and the value is not a number of bytes.
fn total_size_of(key: &str, value: &Value) -> Result<Option<u64>, ShardErrorKind> {
    match (key, value.as_u64()) {
        (TOTAL_SIZE, None) => whole_number(value).map(Some),
        (TOTAL_SIZE, size) => Ok(size),
        _ => Ok(None),
    }
}

/// Parses a number with `.0`, as some programs write `8.0`.
fn whole_number(value: &Value) -> Result<u64, ShardErrorKind> {
    let text = std::string::ToString::to_string(value);
    let digits = text.strip_suffix(".0").filter(|_| value.is_f64());
    digits
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| ShardErrorKind::NoSize(text.chars().take(SHOWN).collect()))
}

impl fmt::Debug for ShardIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tensors, size) = (self.len(), self.total_size);
        f.debug_struct("ShardIndex")
            .field("tensors", &tensors)
            .field("shards", &self.shards)
            .field("total_size", &size)
            .finish()
    }
}
