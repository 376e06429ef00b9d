//! The model that a split replaces, where it is in other files than the new one.

use crate::complaint::Complaint;
use crate::product::sync_folder;
use crate::siblings::{INDEX_END, ShardName, read_index};
use crate::text::shown_text;
use embedded_safetensors::ShardIndex;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files of an old model that go when the new one is in its place.
pub struct Former(Vec<PathBuf>);

impl Former {
    /// The files of the model called `name` in this folder that are none of the `new` model's: its index, if it has one; the shards that the index names
    /// and that are called as this model's shards are; and the whole model, which many readers prefer to an index.
    ///
    /// # Errors
    /// The old index names a file that is there and that the new model has, too: they cannot all be replaced at once, so a program
    /// that is killed would leave neither model. Or the old index cannot be read.
    pub fn of(folder: &Path, name: &str, new: &[PathBuf], has_index: bool) -> Result<Self, Complaint> {
        let index = folder.join(format!("{name}{INDEX_END}"));
        let old = read_index(&index)?;
        let whole = folder.join(format!("{name}.safetensors"));
        // Links, and systems that take capitals for small letters, have several paths for one file.
        let places: HashSet<PathBuf> = new.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let is_new = |path: &Path| path.canonicalize().is_ok_and(|place| places.contains(&place));
        let shards: Vec<&str> = old.iter().flat_map(ShardIndex::shards).collect();
        if let Some(taken) = shards.iter().map(|shard| folder.join(shard)).find(|path| is_new(path)) {
            let index = shown_text(&index.to_string_lossy());
            let sentence = format!(
                "is a shard of the model {index}: several files cannot be replaced atomically; split into another folder, or remove that model first"
            );
            return Err(Complaint::about(&taken, sentence));
        }
        let is_called_so = |shard: &&&str| ShardName::parse(shard).is_some_and(|shard| shard.stem == name);
        let shards = shards.iter().filter(is_called_so).map(|shard| folder.join(shard));
        let index = (old.is_some() && !has_index).then_some(index);
        let files = index.into_iter().chain([whole]).chain(shards);
        Ok(Self(files.filter(|path| path.is_file() && !is_new(path)).collect()))
    }

    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.iter()
    }

    /// Removes them, the index before its shards.
    ///
    /// # Errors
    /// Those of the system; then files of the old model are left.
    pub fn remove(self) -> Result<(), Complaint> {
        self.0.iter().try_for_each(|path| remove(path))
    }
}

/// Removes a file if it is there, and returns when it is gone for good.
fn remove(path: &Path) -> Result<(), Complaint> {
    let gone = match fs::remove_file(path) {
        Ok(()) => sync_folder(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    gone.map_err(|error| Complaint::cannot_remove(path, &error))
}
