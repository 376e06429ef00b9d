//! Divides tensors among shards, and writes the shards in a safe order.

use super::error::ShardErrorKind;
use super::index::{ShardIndex, check_name};
use super::limits::ShardLimits;
use super::read::read;
use crate::atomic::{stat_file, sync_parent};
use crate::disk::{Disk, FromStart};
use crate::error::{At, Doing, EditError, EditErrorKind};
use crate::system::System;
use embedded_safetensors::error::Class;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A division of tensors among shards, as by the Python package `huggingface_hub`. Tensors are assigned in
/// order, each to the current shard or, if it does not fit, to the next one. A tensor larger than the maximum
/// gets a shard of its own.
///
/// ```
/// use safetensors_files::shards::ShardPlan;
///
/// let plan = ShardPlan::new("model", [("a", 6), ("b", 6), ("c", 2), ("d", 6)], 10);
/// let shards: Vec<_> = plan.shards().map(|shard| (shard.file_name(), shard.tensors().join(" "))).collect();
/// assert_eq!(shards[0], ("model-00001-of-00003.safetensors", "a".into()));
/// assert_eq!(shards[1], ("model-00002-of-00003.safetensors", "b c".into()));
/// ```
///
/// *Memory*: the names, on the heap.
#[derive(Clone, Debug)]
pub struct ShardPlan {
    index_name: String,
    shards: Vec<PlannedShard>,
}

/// One shard of a [`ShardPlan`].
///
/// *Memory*: its names, on the heap.
#[derive(Clone, Debug, Default)]
pub struct PlannedShard {
    file_name: String,
    tensors: Vec<String>,
    bytes: u64,
}

impl ShardPlan {
    /// The default maximum length of a shard: 5 GB.
    pub const USUAL_BYTES: u64 = 5_000_000_000;

    /// Divides tensors of these names and lengths in bytes among files named
    /// `STEM-00001-of-00002.safetensors` and so on, or `STEM.safetensors` if one is enough.
    pub fn new<N: Into<String>>(
        stem: impl Into<String>,
        tensors: impl IntoIterator<Item = (N, u64)>,
        max_bytes: u64,
    ) -> Self {
        let (stem, mut shards, mut current) = (stem.into(), Vec::new(), PlannedShard::default());
        for (name, bytes) in tensors {
            let tensors = Vec::from([name.into()]);
            if bytes > max_bytes {
                shards.push(PlannedShard { tensors, bytes, ..PlannedShard::default() });
                continue;
            }
            if current.bytes.checked_add(bytes).is_none_or(|sum| sum > max_bytes) {
                shards.push(core::mem::take(&mut current));
            }
            current.tensors.extend(tensors);
            current.bytes = current.bytes.saturating_add(bytes);
        }
        let is_last = !current.tensors.is_empty() || shards.is_empty();
        shards.extend(is_last.then_some(current));
        let count = shards.len();
        for (number, shard) in (1..).zip(&mut shards) {
            shard.file_name = match count {
                1 => format!("{stem}.safetensors"),
                _ => format!("{stem}-{number:05}-of-{count:05}.safetensors"),
            };
        }
        Self { index_name: format!("{stem}.safetensors.index.json"), shards }
    }

    /// Returns the shards. There is at least one, which may be empty.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = &PlannedShard> {
        self.shards.iter()
    }

    /// Returns the length of all tensors in bytes.
    pub fn total_size(&self) -> u64 {
        self.shards.iter().map(|shard| shard.bytes).fold(0, u64::saturating_add)
    }

    /// Returns whether there is more than one shard, and so an index.
    pub fn is_sharded(&self) -> bool {
        self.shards.len() > 1
    }

    /// Returns the file name of the index.
    pub fn index_name(&self) -> &str {
        &self.index_name
    }

    /// Returns the index, with `total_size`.
    ///
    /// # Errors
    /// [`ShardErrorKind::Duplicate`] for a duplicate name, [`ShardErrorKind::UnsafeName`] for a stem that
    /// results in unsafe names.
    pub fn index(&self) -> Result<ShardIndex, EditError> {
        let mut index = ShardIndex::new();
        index.set_metadata("total_size", self.total_size())?;
        for shard in &self.shards {
            shard.tensors.iter().try_for_each(|tensor| index.insert(tensor, &shard.file_name))?;
        }
        Ok(index)
    }

    /// Writes the model to a directory. `write` is called with each shard and its path, and must write the
    /// file atomically, as [`write_file`](crate::write_file), [`FileWriter`](crate::FileWriter) and
    /// [`ModelEditor::save`](crate::ModelEditor::save) do. The index is written last. Returns the path to
    /// open: that of the index or of the only file.
    ///
    /// The directory always has the complete old model or the complete new one, even after a power cut or
    /// when the program is killed. If that is impossible, because the existing index lists a shard name of
    /// the new model, nothing is written. Then write to another directory, and rename or remove the old one
    /// afterwards, or use `write_checkpoint`. Shards of an old model with other names stay. Only the index of
    /// this stem is checked: keep a model with another index in its own directory if its shards have the same
    /// names.
    ///
    /// An existing `STEM.safetensors` beside a new index also stays. Programs that look for a single file
    /// first, as transformers does, then open that old model, so remove it afterwards.
    ///
    /// # Errors
    /// [`ShardErrorKind::ShardInUse`]; those of `write` and of [`index`](Self::index); those of the
    /// system. After an error, new shards that did not replace a file
    /// are removed, unless only the replacement of the index or the removal of an old one failed.
    ///
    /// # Panics
    /// When `write` panics; then the shards written so far stay, without an index.
    pub fn write(
        &self,
        directory: impl AsRef<Path>,
        write: impl FnMut(&PlannedShard, &Path) -> Result<(), EditError>,
    ) -> Result<PathBuf, EditError> {
        self.write_on(&System, directory.as_ref(), write)
    }

    /// Writes as [`write`](Self::write) does.
    pub(super) fn write_on(
        &self,
        disk: &dyn Disk,
        directory: &Path,
        write: impl FnMut(&PlannedShard, &Path) -> Result<(), EditError>,
    ) -> Result<PathBuf, EditError> {
        let index = self.index().map_err(|error| error.into_kind().of(directory))?;
        let index_path = directory.join(self.index_name());
        let mut writing = Writing { disk, index: &index_path, new: Vec::new() };
        let outcome = writing.shards(self, directory, write).and_then(|last| {
            let ended = match self.is_sharded() {
                true => writing.put_index(&index).map(|()| index_path.clone()),
                false => writing.remove_old_index().map(|()| last),
            };
            ended.at(&index_path)
        });
        outcome.inspect_err(|_| writing.undo())
    }
}

impl PlannedShard {
    /// Returns the name of its file.
    pub fn file_name(&self) -> &str {
        &self.file_name
    }

    /// Returns the names of its tensors, in order.
    pub fn tensors(&self) -> &[String] {
        &self.tensors
    }

    /// Returns the length of its tensors in bytes.
    pub fn byte_len(&self) -> u64 {
        self.bytes
    }
}

/// A model that is being written to a directory.
struct Writing<'w> {
    disk: &'w dyn Disk,
    /// The path of the index.
    index: &'w Path,
    /// Shards written to paths that did not exist before.
    new: Vec<PathBuf>,
}

impl Writing<'_> {
    /// Writes all shards. Returns the path of the last one.
    fn shards(
        &mut self,
        plan: &ShardPlan,
        directory: &Path,
        mut write: impl FnMut(&PlannedShard, &Path) -> Result<(), EditError>,
    ) -> Result<PathBuf, EditError> {
        plan.shards().try_for_each(|shard| check_name(shard.file_name())).at(directory)?;
        let paths: Vec<PathBuf> = plan.shards().map(|shard| directory.join(shard.file_name())).collect();
        let taken: Vec<bool> = paths.iter().map(|path| self.exists(path)).collect::<Result<_, _>>()?;
        if taken.contains(&true) {
            self.check_old_model(directory, &paths)?;
        }
        for ((shard, path), is_taken) in plan.shards().zip(&paths).zip(taken) {
            self.new.extend((!is_taken).then(|| path.clone()));
            write(shard, path)?;
        }
        Ok(paths.into_iter().next_back().unwrap_or_default())
    }

    /// Checks that no new shard replaces a shard of the old index: several shards cannot be replaced
    /// atomically.
    fn check_old_model(&self, directory: &Path, new: &[PathBuf]) -> Result<(), EditError> {
        let Some(old) = self.old_index().at(self.index)? else { return Ok(()) };
        let resolve = |path: &Path| match self.exists(path)? {
            true => self.disk.resolve(path).map(Some).doing("open").at(path),
            false => Ok(None),
        };
        let new: HashSet<PathBuf> =
            new.iter().filter_map(|path| resolve(path).transpose()).collect::<Result<_, _>>()?;
        for shard in old.shards() {
            if resolve(&directory.join(shard))?.is_some_and(|resolved| new.contains(&resolved)) {
                return Err(ShardErrorKind::ShardInUse(shard.into())).at(directory);
            }
        }
        Ok(())
    }

    /// Returns the existing index, if it is valid.
    fn old_index(&self) -> Result<Option<ShardIndex>, EditErrorKind> {
        if stat_file(self.disk, self.index)?.is_none() {
            return Ok(None);
        }
        let resolved = self.disk.resolve(self.index).doing("open")?;
        let file = self.disk.open(&resolved, false).doing("open")?;
        match read(FromStart::new(&*file), &ShardLimits::USUAL) {
            Ok(index) => Ok(Some(index)),
            Err(kind) if kind.class() == Some(Class::File) => Ok(None),
            Err(kind) => Err(kind),
        }
    }

    fn put_index(&mut self, index: &ShardIndex) -> Result<(), EditErrorKind> {
        let file = index.beside(self.disk, self.index)?;
        // The index may exist even if this fails, and then it needs its shards.
        self.new.clear();
        file.replace_target()
    }

    fn exists(&self, path: &Path) -> Result<bool, EditError> {
        stat_file(self.disk, path).map(|found| found.is_some()).at(path)
    }

    /// Removes the old index, whose model is replaced by a single file, and syncs the directory.
    fn remove_old_index(&mut self) -> Result<(), EditErrorKind> {
        self.new.clear();
        if stat_file(self.disk, self.index)?.is_none() {
            return Ok(());
        }
        self.disk.remove(self.index).doing("remove")?;
        let resolved = self.disk.resolve(self.index).map_err(EditErrorKind::unresolved)?;
        sync_parent(self.disk, &resolved)
    }

    /// Removes the new shards. Errors are ignored, since there already is one.
    fn undo(&self) {
        self.new.iter().for_each(|path| drop(self.disk.remove(path)));
    }
}
