//! Which tensor goes into which shard, and the order in which shards are written.

use super::error::{ShardError, ShardErrorKind};
use super::index::ShardIndex;
use super::limits::ShardLimits;
use super::name;
use super::read::read;
use crate::atomic::{look_for_file, sync_folder_of};
use crate::disk::{Disk, FromStart};
use crate::error::{EditError, EditErrorKind};
use crate::system::System;
use embedded_safetensors::error::Class;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Which tensors go into which shard: as the Python package `huggingface_hub` divides them, in their order, each into the shard that is being filled or else
/// into the next; one that is larger than a shard is to be gets one of its own.
///
/// ```
/// use safetensors_files::shards::ShardPlan;
///
/// let plan = ShardPlan::new("model", [("a", 6), ("b", 6), ("c", 2), ("d", 6)], 10);
/// let shards: Vec<_> = plan.shards().map(|shard| (shard.file_name(), shard.tensors().join(" "))).collect();
/// assert_eq!(shards[0], ("model-00001-of-00003.safetensors".into(), "a".into()));
/// assert_eq!(shards[1], ("model-00002-of-00003.safetensors".into(), "b c".into()));
/// ```
///
/// *Memory*: the names, on the heap.
#[derive(Clone, Debug)]
pub struct ShardPlan {
    stem: String,
    shards: Vec<Shard>,
}

#[derive(Clone, Debug, Default)]
struct Shard {
    tensors: Vec<String>,
    bytes: u64,
}

/// One shard of a [`ShardPlan`].
///
/// *Memory*: 24 bytes, `Copy`; all else is borrowed.
#[derive(Clone, Copy, Debug)]
pub struct PlannedShard<'p> {
    plan: &'p ShardPlan,
    shard: &'p Shard,
    number: usize,
}

impl ShardPlan {
    /// What a shard has at most if nobody says anything else: 5 GB.
    pub const USUAL_BYTES: u64 = 5_000_000_000;

    /// Divides tensors of these names and lengths in bytes among files that are called `STEM-00001-of-00002.safetensors` and so on, or
    /// `STEM.safetensors` if one is enough.
    pub fn new<N: Into<String>>(
        stem: impl Into<String>,
        tensors: impl IntoIterator<Item = (N, u64)>,
        max_bytes: u64,
    ) -> Self {
        let (mut shards, mut current) = (Vec::new(), Shard::default());
        for (name, bytes) in tensors {
            let tensor = Vec::from([name.into()]);
            if bytes > max_bytes {
                shards.push(Shard { tensors: tensor, bytes });
                continue;
            }
            if current.bytes.checked_add(bytes).is_none_or(|sum| sum > max_bytes) {
                shards.push(core::mem::take(&mut current));
            }
            current.tensors.extend(tensor);
            current.bytes = current.bytes.saturating_add(bytes);
        }
        let is_last = !current.tensors.is_empty() || shards.is_empty();
        shards.extend(is_last.then_some(current));
        Self { stem: stem.into(), shards }
    }

    /// The shards; at least one, which may be empty.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = PlannedShard<'_>> {
        self.shards.iter().enumerate().map(|(number, shard)| PlannedShard { plan: self, shard, number })
    }

    /// How many bytes all tensors have together.
    pub fn total_size(&self) -> u64 {
        self.shards.iter().map(|shard| shard.bytes).fold(0, u64::saturating_add)
    }

    /// Whether there is more than one shard, and so an index.
    pub fn is_sharded(&self) -> bool {
        self.shards.len() > 1
    }

    /// What the index is called.
    pub fn index_name(&self) -> String {
        format!("{}.safetensors.index.json", self.stem)
    }

    /// The index, with `total_size`.
    ///
    /// # Errors
    /// [`ShardErrorKind::Twice`] for a name that occurs twice, [`ShardErrorKind::UnsafeName`] for a stem that makes names which are not safe.
    pub fn index(&self) -> Result<ShardIndex, ShardError> {
        let mut index = ShardIndex::new();
        index.set_metadata("total_size", self.total_size())?;
        for shard in self.shards() {
            let name = shard.file_name();
            shard.tensors().iter().try_for_each(|tensor| index.insert(tensor, &name))?;
        }
        Ok(index)
    }

    /// Writes the model into a folder: `write` is given each shard and the path where it is to write it, atomically, as [`write_file`](crate::write_file),
    /// [`FileWriter`](crate::FileWriter) and [`ModelEditor::save`](crate::ModelEditor::save) do. The index comes last. Gives the path of what is to be opened, the
    /// index or the only file.
    ///
    /// Whoever opens the folder, also after a power cut or when the program was killed, finds the new model whole or the old one whole. Where that cannot be
    /// done, because the index that is there names a shard that the new model has, too, nothing is written: write into another folder, and rename or remove
    /// the old one afterwards, or use `write_checkpoint`. Shards of an old model that are called otherwise stay there.
    /// Only the index of this stem is looked at: keep a model of another index in a folder of its own, if its shards are called the same.
    ///
    /// A `STEM.safetensors` that is there beside a new index stays, too, and programs that look for a whole model first, as transformers does, find that old
    /// model. Whoever writes where one may be removes it afterwards.
    ///
    /// # Errors
    /// [`ShardErrorKind::ShardInUse`]; those of `write`, as [`ShardErrorKind::File`]; those of [`index`](Self::index); those of the system. Shards that have been written where no
    /// file was are removed then, unless all that failed was to put the index in its place or to remove an old one.
    ///
    /// # Panics
    /// Never, unless `write` does; then what was written so far stays, without an index.
    pub fn write(
        &self,
        folder: impl AsRef<Path>,
        write: impl FnMut(PlannedShard<'_>, &Path) -> Result<(), EditError>,
    ) -> Result<PathBuf, ShardError> {
        let folder = folder.as_ref();
        self.write_on(&System, folder, write).map_err(|fault| fault.of(folder))
    }

    /// As [`write`](Self::write).
    pub(super) fn write_on(
        &self,
        disk: &dyn Disk,
        folder: &Path,
        write: impl FnMut(PlannedShard<'_>, &Path) -> Result<(), EditError>,
    ) -> Result<PathBuf, ShardErrorKind> {
        let index = self.index().map_err(|error| error.into_fault())?;
        let index_path = folder.join(self.index_name());
        let mut writing = Writing { disk, index: &index_path, new: Vec::new() };
        let outcome = writing.shards(self, folder, write).and_then(|last| match self.is_sharded() {
            true => writing.put_index(&index).map(|()| index_path.clone()),
            false => writing.leave_no_index().map(|()| last),
        });
        outcome.inspect_err(|_| writing.undo())
    }
}

impl<'p> PlannedShard<'p> {
    /// The name of its file.
    pub fn file_name(&self) -> String {
        let (stem, count) = (&self.plan.stem, self.plan.shards.len());
        match count {
            0 | 1 => format!("{stem}.safetensors"),
            _ => format!("{stem}-{:05}-of-{count:05}.safetensors", self.number + 1),
        }
    }

    /// The names of its tensors, in their order.
    pub fn tensors(&self) -> &'p [String] {
        &self.shard.tensors
    }

    /// How many bytes they have together.
    pub fn byte_len(&self) -> u64 {
        self.shard.bytes
    }
}

/// A model on its way into a folder.
struct Writing<'w> {
    disk: &'w dyn Disk,
    /// Its path.
    index: &'w Path,
    /// Shards that have been written where no file was.
    new: Vec<PathBuf>,
}

impl Writing<'_> {
    /// Writes all shards; the path of the last one.
    fn shards(
        &mut self,
        plan: &ShardPlan,
        folder: &Path,
        mut write: impl FnMut(PlannedShard<'_>, &Path) -> Result<(), EditError>,
    ) -> Result<PathBuf, ShardErrorKind> {
        plan.shards().try_for_each(|shard| name::check(&shard.file_name()))?;
        let paths: Vec<PathBuf> = plan.shards().map(|shard| folder.join(shard.file_name())).collect();
        let taken: Vec<bool> = paths.iter().map(|path| self.is_there(path)).collect::<Result<_, _>>()?;
        if taken.contains(&true) {
            self.check_old_model(folder, &paths)?;
        }
        for ((shard, path), is_taken) in plan.shards().zip(&paths).zip(taken) {
            self.new.extend((!is_taken).then(|| path.clone()));
            write(shard, path).map_err(ShardErrorKind::File)?;
        }
        Ok(paths.into_iter().next_back().unwrap_or_default())
    }

    /// Shards cannot all be replaced at once, so none that the old index names may be.
    fn check_old_model(&self, folder: &Path, new: &[PathBuf]) -> Result<(), ShardErrorKind> {
        let Some(old) = self.old_index()? else { return Ok(()) };
        let resolve = |path: &Path| match self.is_there(path)? {
            true => {
                self.disk.resolve(path).map(Some).map_err(|error| ShardErrorKind::system("open", path, error))
            }
            false => Ok(None),
        };
        let new: HashSet<PathBuf> =
            new.iter().filter_map(|path| resolve(path).transpose()).collect::<Result<_, _>>()?;
        for shard in old.shards() {
            if resolve(&folder.join(shard))?.is_some_and(|place| new.contains(&place)) {
                return Err(ShardErrorKind::ShardInUse { shard: shard.into() });
            }
        }
        Ok(())
    }

    /// The index that is there. One that is not sound leads to no model.
    fn old_index(&self) -> Result<Option<ShardIndex>, ShardErrorKind> {
        if !self.is_there(self.index)? {
            return Ok(None);
        }
        let cannot = |error| ShardErrorKind::system("open", self.index, error);
        let place = self.disk.resolve(self.index).map_err(cannot)?;
        let file = self.disk.open(&place, false).map_err(cannot)?;
        match read(FromStart::new(&*file), self.index, &ShardLimits::USUAL) {
            Ok(index) => Ok(Some(index)),
            Err(fault) if fault.class() == Some(Class::File) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn put_index(&mut self, index: &ShardIndex) -> Result<(), ShardErrorKind> {
        let cannot = |fault: EditErrorKind| ShardErrorKind::File(fault.of(self.index));
        let file = index.beside(self.disk, self.index).map_err(cannot)?;
        // The index may be there although this fails, and then its shards must be.
        self.new.clear();
        file.take_place().map_err(cannot)
    }

    /// The old index leads to an old model, in whose place a single file is.
    fn leave_no_index(&mut self) -> Result<(), ShardErrorKind> {
        self.new.clear();
        self.remove_index()
    }

    fn is_there(&self, path: &Path) -> Result<bool, ShardErrorKind> {
        match look_for_file(self.disk, path) {
            Ok(found) => Ok(found.is_some()),
            Err(fault) => Err(ShardErrorKind::File(fault.of(path))),
        }
    }

    /// Returns when it is gone for good.
    fn remove_index(&self) -> Result<(), ShardErrorKind> {
        if !self.is_there(self.index)? {
            return Ok(());
        }
        let removed = self.disk.remove(self.index);
        removed.map_err(|error| ShardErrorKind::system("remove", self.index, error))?;
        let synced = self.disk.resolve(self.index).map_err(EditErrorKind::no_place);
        let synced = synced.and_then(|place| sync_folder_of(self.disk, &place));
        synced.map_err(|fault| ShardErrorKind::File(fault.of(self.index)))
    }

    /// There is an error to tell already.
    fn undo(&self) {
        self.new.iter().for_each(|path| drop(self.disk.remove(path)));
    }
}
