//! What a model that is replaced has in files that the new one does not replace.

use crate::complaint::Complaint;
use crate::product::sync_folder;
use embedded_safetensors::{ShardIndex, ShardLimits};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files of an old model that are to go when the new one is there.
pub struct Former(Vec<PathBuf>);

impl Former {
    /// What an old index names, and `whole`, the file that readers prefer to an index, but for those of the `new` model
    /// and what is not called as a model is. An index that cannot be read names nothing.
    pub fn of(index: &Path, whole: &Path, new: &[PathBuf]) -> Self {
        let folder = index.parent().unwrap_or(Path::new(""));
        let old = ShardIndex::open(index, &ShardLimits::USUAL).unwrap_or_default();
        let old = old.shards().map(|shard| folder.join(shard)).chain([whole.to_path_buf()]);
        let old = old.filter(|path| path.extension().is_some_and(|end| end == "safetensors"));
        // Links, and systems that take capitals for small letters, have several paths for one file.
        let new: HashSet<PathBuf> = new.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let is_old = |path: &PathBuf| path.canonicalize().is_ok_and(|place| !new.contains(&place));
        Self(old.filter(is_old).collect())
    }

    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.iter()
    }

    /// # Errors
    /// Those of the system; then files of the old model are left.
    pub fn remove(self) -> Result<(), Complaint> {
        self.0.iter().try_for_each(|path| remove(path))
    }
}

/// Removes a file if it is there, and returns when it is gone for good.
///
/// # Errors
/// Those of the system.
pub fn remove(path: &Path) -> Result<(), Complaint> {
    let gone = match fs::remove_file(path) {
        Ok(()) => sync_folder(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    gone.map_err(|error| Complaint::cannot_remove(path, &error))
}
