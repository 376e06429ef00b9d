//! Parts of models of other formats: one of them would look like a complete model.

use super::find::{Found, Group};
use super::input::Input;
use super::source::Source;
use crate::args::kind::Kind;
use crate::error::Error;
use crate::input::discover::ShardName;
use crate::input::foreign::Readable;
use crate::text::{quoted, shown_path};
use safetensors_convert::gguf::Split;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Rejects shards of PyTorch and GGUF, by their names, unless all of their model are inputs. The files of an
/// index are complete. One shard is also allowed if the output has the name of the same shard.
///
/// # Errors
/// A shard is missing among the inputs.
pub fn reject_parts(groups: &[Group], output: &Path) -> Result<(), Error> {
    let files = || groups.iter().flat_map(|group| &group.files);
    let given: HashSet<PathBuf> = files().filter_map(|file| file.path.canonicalize().ok()).collect();
    let mut seen = HashSet::new();
    for Found { path, .. } in groups.iter().filter(|group| group.index.is_none()).flat_map(shards) {
        let Some((shard, suffix)) = shard_of(path).filter(|_| !is_same_shard(path, output)) else { continue };
        let folder = path.parent().unwrap_or(Path::new(""));
        if !seen.insert((folder, shard.stem, shard.count, suffix)) {
            continue;
        }
        let mut names = (1..=shard.count).map(|number| shard.name(number, suffix));
        let is_given =
            |name: &String| folder.join(name).canonicalize().is_ok_and(|path| given.contains(&path));
        if let Some(missing) = names.find(|name| !is_given(name)) {
            let (number, count, missing) = (shard.number, shard.count, quoted(&missing));
            let sentence = format!(
                "is shard {number} of {count}, and {missing} is not among the inputs; give all shards, \
                 their index or their directory"
            );
            return Err(Error::about(path, sentence));
        }
    }
    Ok(())
}

/// Rejects files of GGUF that say that they are parts of a model, unless all are inputs.
///
/// # Errors
/// A part is missing or a duplicate, or the parts do not have as many tensors as they say.
pub fn check_splits(input: &Input, (output, kind): (&Path, Kind)) -> Result<(), Error> {
    let parts = input.files.iter().filter_map(|file| Some((file, file.foreign()?.split?)));
    let parts = parts.filter(|(file, _)| !is_same_shard(&file.path, output));
    let (mut by_number, mut first) = (BTreeMap::new(), None);
    for (file, split) in parts {
        let Split { number, count, .. } = split;
        let (one, Split { count: due, .. }) = *first.get_or_insert((file, split));
        let other: Option<&Source> = by_number.insert(number, file);
        let sentence = match other {
            _ if due != count => {
                format!("is one of {count} parts, and {} one of {due}", shown_path(&one.path))
            }
            Some(other) => format!("is part {} of {count}, as {} is", number + 1, shown_path(&other.path)),
            None => continue,
        };
        return Err(Error::about(&file.path, sentence));
    }
    let Some((file, Split { number, count, tensors })) = first.filter(|_| !kind.is_numpy()) else {
        return Ok(());
    };
    if by_number.len() as u64 != count {
        let missing = (0..count).find(|number| !by_number.contains_key(number)).unwrap_or_default();
        let sentence = format!(
            "is part {} of {count}, and part {} is not among the inputs; give all parts, or their directory",
            number + 1,
            missing + 1
        );
        return Err(Error::about(&file.path, sentence));
    }
    let found: u64 = by_number.values().map(|file| file.tensors.len() as u64).sum();
    match tensors.filter(|tensors| *tensors != found) {
        Some(tensors) => {
            let sentence = format!("GGUF: all parts together have {tensors} tensors, but {found} were found");
            Err(Error::bad(&file.path, Readable::Gguf.code(), sentence))
        }
        None => Ok(()),
    }
}

/// The files of formats whose shards are known by their names.
fn shards(group: &Group) -> impl Iterator<Item = &Found> {
    group.files.iter().filter(|file| matches!(file.format, Some(Readable::PyTorch | Readable::Gguf)))
}

/// The name of a shard of several, and its suffix.
fn shard_of(path: &Path) -> Option<(ShardName<'_>, &str)> {
    let (stem, suffix) = (path.file_stem()?.to_str()?, path.extension()?.to_str()?);
    ShardName::of_stem(stem).filter(|shard| shard.count > 1).map(|shard| (shard, suffix))
}

/// Whether both names are those of the same shard.
fn is_same_shard(path: &Path, output: &Path) -> bool {
    let shard = |path| shard_of(path).map(|(shard, _)| shard);
    shard(path).is_some_and(|one| shard(output) == Some(one))
}
