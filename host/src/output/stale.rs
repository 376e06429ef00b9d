//! The old model that a split replaces, where its files differ from the new model's files.

use crate::error::Error;
use crate::input::discover::{INDEX_END, ShardName, folder_of, indexes_in};
use crate::output::overwrite::place_of;
use crate::text::shown_path;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Finds the files of the model called `name` in this directory that are not files of the `new` model: its
/// index, if any; the shards that only this index names and whose names match this model; and the single-file
/// model, which many readers prefer to an index.
///
/// # Errors
/// An index in the directory names an existing file that the new model has too. Several files cannot be
/// replaced atomically, so a program killed in between would leave neither model. Or an index, or a file that
/// it names, cannot be read.
pub fn old_files(folder: &Path, name: &str, new: &[PathBuf], has_index: bool) -> Result<Vec<PathBuf>, Error> {
    let whole = folder.join(format!("{name}.safetensors"));
    let place = |path: &Path| place_of(path).map_err(|error| Error::not_read(path, error));
    // With links and on case-insensitive systems one file has several paths.
    let places = new.iter().map(|path| place(path)).filter_map(Result::transpose);
    let places: HashSet<PathBuf> = places.collect::<Result<_, _>>()?;
    let (mut old, mut others) = (None, HashSet::new());
    let own = format!("{name}{INDEX_END}");
    for index in indexes_in(folder)? {
        let is_own = index.path.file_name() == Some(own.as_ref());
        for shard in index.shards.iter().map(|shard| folder.join(shard)) {
            let Some(at) = place(&shard)? else { continue };
            if places.contains(&at) || (!is_own && shard == whole) {
                let [index, shown] = [&index.path, &whole].map(|path| shown_path(path));
                let sentence = format!(
                    "is a shard of the model {index}: several files cannot be replaced atomically; split \
                     into another directory, or remove that model first"
                );
                // An interrupted split may have left it, and many readers prefer it.
                let beside = format!("; {shown} beside it is a complete model, which many readers prefer");
                let beside = if whole.is_file() { &*beside } else { "" };
                return Err(Error::about(&shard, sentence + beside));
            }
            if !is_own {
                others.insert(at);
            }
        }
        if is_own {
            old = Some(index);
        }
    }
    let (mut files, mut former) = (Vec::new(), vec![whole]);
    if let Some(old) = old {
        files.extend((!has_index).then_some(old.path));
        let is_called_so = |shard: &&String| ShardName::parse(shard).is_some_and(|shard| shard.stem == name);
        former.extend(old.shards.iter().filter(is_called_so).map(|shard| folder.join(shard)));
    }
    for path in former {
        let is_former = |at: PathBuf| at.is_file() && !places.contains(&at) && !others.contains(&at);
        if place(&path)?.is_some_and(is_former) {
            files.push(path);
        }
    }
    Ok(files)
}

/// Removes the files, the index before its shards, each on the medium before the next.
///
/// # Errors
/// Those of the system; some files of the old model are left then.
pub fn remove(files: &[PathBuf]) -> Result<(), Error> {
    // Windows syncs no directories.
    let sync = |path: &Path| if cfg!(unix) { File::open(folder_of(path))?.sync_all() } else { Ok(()) };
    files.iter().try_for_each(|path| match fs::remove_file(path).and_then(|()| sync(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::cannot_remove(path, &error)),
        _ => Ok(()),
    })
}
