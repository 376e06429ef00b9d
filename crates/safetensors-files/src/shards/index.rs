//! The index of a model in several files.

use super::error::{ShardError, ShardErrorKind};
use super::limits::{ShardLimit, ShardLimits};
use super::scan::Exceeded;
use super::{name, read, write};
use crate::atomic::{Hidden, Replacement, look_for_file};
use crate::disk::Disk;
use crate::error::{EditError, EditErrorKind};
use crate::system::System;
use core::fmt;
use serde_json::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// The index of a model in several files: which tensor is in which of them (`model.safetensors.index.json`). What it says is proven when the
/// model is opened: [`ShardedModel`](crate::shards::ShardedModel).
///
/// ```
/// use safetensors_files::shards::{ShardIndex, ShardLimits};
///
/// let text = r#"{"metadata": {"total_size": 8}, "weight_map": {"a": "m-00001-of-00002.safetensors", "b": "m-00002-of-00002.safetensors"}}"#;
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
    tensors: HashMap<String, Place>,
    shards: Vec<String>,
    /// The same by their names.
    numbers: HashMap<String, usize>,
}

/// Of a tensor.
#[derive(Clone, Copy)]
struct Place {
    /// How many stand before it.
    order: usize,
    shard: usize,
}

const TOTAL_SIZE: &str = "total_size";
/// How much of what is not a number of bytes is shown, in characters.
const SHOWN: usize = 40;

impl ShardIndex {
    /// One of no tensors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads an index from a file, piece by piece.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`FileErrorKind::NotAFile`](embedded_safetensors::file::FileErrorKind::NotAFile).
    pub fn open(path: impl AsRef<Path>, limits: &ShardLimits) -> Result<Self, ShardError> {
        let path = path.as_ref();
        Self::open_file(path, limits).map_err(|fault| fault.of(path))
    }

    fn open_file(path: &Path, limits: &ShardLimits) -> Result<Self, ShardErrorKind> {
        let found = look_for_file(&System, path).map_err(|fault| ShardErrorKind::File(fault.of(path)))?;
        let len = found.map_or(0, |stat| stat.version.len);
        Exceeded::of(ShardLimit::Bytes, limits, len)?;
        let file = File::open(path).map_err(|error| ShardErrorKind::system("open", path, error))?;
        read::read(file, path, limits)
    }

    /// Reads an index, piece by piece: of its text 8 KiB are held at once, and one name. A `metadata` of `null` is as none.
    ///
    /// # Errors
    /// [`ShardErrorKind::Json`], [`ShardErrorKind::Twice`], [`ShardErrorKind::UnsafeName`], [`ShardErrorKind::NoSize`]; [`ShardErrorKind::Limit`]; those of the reader.
    pub fn read(reader: impl Read, limits: &ShardLimits) -> Result<Self, ShardError> {
        let path = Path::new("index");
        read::read(reader, path, limits).map_err(|fault| fault.of(path))
    }

    /// Puts a tensor into a shard.
    ///
    /// # Errors
    /// [`ShardErrorKind::Twice`] for a tensor that is there; [`ShardErrorKind::UnsafeName`] for the name of a shard that is not safe. Nothing is changed then.
    pub fn insert(&mut self, tensor: impl Into<String>, shard: &str) -> Result<(), ShardError> {
        self.add(tensor.into(), shard).map_err(|fault| fault.of(Path::new(shard)))
    }

    pub(super) fn add(&mut self, tensor: String, shard: &str) -> Result<(), ShardErrorKind> {
        let known = self.numbers.get(shard).copied();
        if known.is_none() {
            name::check(shard)?;
        }
        let (order, number) = (self.tensors.len(), known.unwrap_or(self.shards.len()));
        match self.tensors.entry(tensor) {
            Entry::Occupied(taken) => return Err(ShardErrorKind::Twice { name: taken.key().clone() }),
            Entry::Vacant(free) => free.insert(Place { order, shard: number }),
        };
        if known.is_none() {
            self.shards.push(shard.into());
            self.numbers.insert(shard.into(), number);
        }
        Ok(())
    }

    /// Says something of the model in `metadata`, at its end, or instead of what is said there.
    ///
    /// # Errors
    /// [`ShardErrorKind::NoSize`] for a `total_size` that is no number of bytes.
    pub fn set_metadata(
        &mut self,
        key: impl Into<String>,
        value: impl Into<Value>,
    ) -> Result<(), ShardError> {
        let (key, value) = (key.into(), value.into());
        let size = size_of(&key, &value).map_err(|fault| fault.of(Path::new("metadata")))?;
        self.total_size = size.or(self.total_size);
        match self.metadata.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => self.metadata.push((key, value)),
        }
        Ok(())
    }

    /// Of a key that is not there.
    pub(super) fn add_metadata(&mut self, key: String, value: Value) -> Result<(), ShardErrorKind> {
        self.total_size = size_of(&key, &value)?.or(self.total_size);
        self.metadata.push((key, value));
        Ok(())
    }

    /// How many bytes all tensors have together, if it is said.
    pub fn total_size(&self) -> Option<u64> {
        self.total_size
    }

    /// What is said of the model, in its order.
    pub fn metadata(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.metadata.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The shards, in the order in which they are named first.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = &str> {
        self.shards.iter().map(String::as_str)
    }

    /// The tensors and the shards that they are in, in their order.
    ///
    /// *Memory*: 40 bytes for each tensor, on the heap.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        let mut tensors: Vec<(usize, &str, &str)> = self
            .tensors
            .iter()
            .map(|(name, place)| (place.order, name.as_str(), self.shard(place)))
            .collect();
        tensors.sort_unstable_by_key(|&(order, ..)| order);
        tensors.into_iter().map(|(_, name, shard)| (name, shard))
    }

    /// The shard that a tensor is in.
    pub fn shard_of(&self, tensor: &str) -> Option<&str> {
        self.tensors.get(tensor).map(|place| self.shard(place))
    }

    /// Which of the shards that is.
    pub(super) fn number_of(&self, tensor: &str) -> Option<usize> {
        self.tensors.get(tensor).map(|place| place.shard)
    }

    fn shard(&self, place: &Place) -> &str {
        self.shards.get(place.shard).map_or("", String::as_str)
    }

    /// Writes the index as the Python package `huggingface_hub` writes it, byte for byte where its numbers are whole. Whatever stands beside `metadata` and
    /// `weight_map` in one that was read is not written.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, writer: impl Write) -> io::Result<()> {
        write::write(self, writer)
    }

    /// Writes the index into a file, which atomically replaces another: as [`write_file`](crate::write_file).
    ///
    /// # Errors
    /// As [`FileWriter::create`](crate::FileWriter::create) and [`FileWriter::finish`](crate::FileWriter::finish).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), EditError> {
        let path = path.as_ref();
        let outcome = self.beside(&System, path).and_then(Hidden::take_place);
        outcome.map_err(|fault| fault.of(path))
    }

    /// The file, on the medium, but not in its place yet.
    pub(super) fn beside<'d>(&self, disk: &'d dyn Disk, path: &Path) -> Result<Hidden<'d>, EditErrorKind> {
        let mut text = Vec::new();
        self.write(&mut text).map_err(EditErrorKind::Input)?;
        let place = disk.resolve(path).map_err(EditErrorKind::no_place)?;
        let file = Replacement::begin(disk, &place)?;
        file.file().write_at(0, &text).map_err(|error| EditErrorKind::system("write", error))?;
        file.close()
    }
}

/// The number of bytes, if that is what it is to be.
///
/// # Errors
/// When it is to be that, and is none.
fn size_of(key: &str, value: &Value) -> Result<Option<u64>, ShardErrorKind> {
    match (key, value.as_u64()) {
        (TOTAL_SIZE, None) => whole(value).map(Some),
        (TOTAL_SIZE, size) => Ok(size),
        _ => Ok(None),
    }
}

/// Some programs have counted in floating point, and write `8.0`.
fn whole(value: &Value) -> Result<u64, ShardErrorKind> {
    let text = std::string::ToString::to_string(value);
    let digits = text.strip_suffix(".0").filter(|_| value.is_f64());
    digits
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| ShardErrorKind::NoSize { found: text.chars().take(SHOWN).collect() })
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
