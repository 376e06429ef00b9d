//! The model that a split replaces, where it is in other files than the new one.

use crate::complaint::Complaint;
use crate::product::sync_folder;
use crate::same::place_of;
use crate::siblings::{INDEX_END, ShardName, indexes_in};
use crate::text::shown_text;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files of an old model that go when the new one is in its place.
pub struct Former(Vec<PathBuf>);

impl Former {
    /// The files of the model called `name` in this folder that are none of the `new` model's: its index, if it has one; the shards that only this index names
    /// and that are called as this model's shards are; and the whole model, which many readers prefer to an index.
    ///
    /// # Errors
    /// An index in the folder names a file that is there and that the new model has, too: they cannot all be replaced at once, so a program
    /// that is killed would leave neither model. Or an index, or a file that it names, cannot be looked at.
    pub fn of(folder: &Path, name: &str, new: &[PathBuf], has_index: bool) -> Result<Self, Complaint> {
        let whole = folder.join(format!("{name}.safetensors"));
        let place = |path: &Path| place_of(path).map_err(|error| Complaint::not_read(path, error));
        // Links, and systems that take capitals for small letters, have several paths for one file.
        let places = new.iter().map(|path| place(path)).filter_map(Result::transpose);
        let places: HashSet<PathBuf> = places.collect::<Result<_, _>>()?;
        let (mut old, mut others) = (None, HashSet::new());
        let own = format!("{name}{INDEX_END}");
        for index in indexes_in(folder)? {
            let is_own = index.path.file_name() == Some(own.as_ref());
            for shard in index.shards.iter().map(|shard| folder.join(shard)) {
                let Some(at) = place(&shard)? else { continue };
                if places.contains(&at) || (!is_own && shard == whole) {
                    return Err(Complaint::about(&shard, in_use(&index.path, &whole)));
                }
                if !is_own {
                    others.insert(at);
                }
            }
            if is_own {
                old = Some(index);
            }
        }
        let (mut files, mut shards) = (Vec::new(), Vec::new());
        if let Some(old) = old {
            files.extend((!has_index).then_some(old.path));
            let is_called_so =
                |shard: &String| ShardName::parse(shard).is_some_and(|shard| shard.stem == name);
            shards.extend(old.shards.into_iter().filter(is_called_so));
        }
        for path in [whole].into_iter().chain(shards.iter().map(|shard| folder.join(shard))) {
            let is_former = |at: PathBuf| at.is_file() && !places.contains(&at) && !others.contains(&at);
            if place(&path)?.is_some_and(is_former) {
                files.push(path);
            }
        }
        Ok(Self(files))
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

/// Why a shard is not replaced.
fn in_use(index: &Path, whole: &Path) -> String {
    let shown = |path: &Path| shown_text(&path.to_string_lossy());
    let sentence = format!(
        "is a shard of the model {}: several files cannot be replaced atomically; split into another folder, or remove that model first",
        shown(index)
    );
    // An interrupted split may have left it, and many readers prefer it.
    match whole.is_file() {
        true => format!(
            "{sentence}; {} beside it is a whole model, which many readers take instead",
            shown(whole)
        ),
        false => sentence,
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
