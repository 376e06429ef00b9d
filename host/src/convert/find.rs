//! The files that an input consists of, and their formats; and the parts of models that are missing.

use super::input::Input;
use super::source::Source;
use crate::args::kind::Kind;
use crate::args::remote::is_remote;
use crate::error::Error;
use crate::input::discover::{INDEX_END, ShardName, files_in, models_in, name_of};
use crate::input::foreign::{Readable, readable_format};
use crate::input::model::is_index;
use crate::input::open::stdin_file;
use crate::input::walk::NO_MODEL;
use crate::text::{quoted, shown_path};
use safetensors_convert::gguf::Split;
use safetensors_convert::tensorflow::index_of;
use safetensors_files::shards::{ShardIndex, ShardLimits};
use safetensors_remote::CANDIDATES;
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The suffix of all indexes.
const ANY_INDEX: &str = ".index.json";
/// The name of a model that has its directory to itself.
const OF_PYTORCH: &str = "pytorch_model.bin";
const SAVED_MODEL: &str = "saved_model.pb";

pub struct Found {
    pub path: PathBuf,
    /// The format, unless it is a model in safetensors.
    pub format: Option<Readable>,
}

/// What an input consists of.
pub struct Group {
    pub files: Vec<Found>,
    /// The index that names files of another format, if there is one.
    pub index: Option<(PathBuf, ShardIndex)>,
}

impl Group {
    /// A file or directory of this format; without one a model, whose files are found when it is opened.
    fn of(path: &Path, format: Option<Readable>) -> Self {
        Self { files: vec![Found { path: path.into(), format }], index: None }
    }
}

/// Finds the files of an input: itself, the shards of an index, or the files of one format in a directory.
///
/// # Errors
/// A directory has files of several formats, or several indexes; those of the system.
pub fn find(path: &Path) -> Result<Group, Error> {
    let is_local = path.as_os_str() != "-" && !is_remote(path);
    match is_local {
        true if path.is_dir() => in_directory(path),
        true if ends_with(path, ANY_INDEX) && !ends_with(path, INDEX_END) => indexed(path),
        _ => Ok(Group::of(path, format_of(path))),
    }
}

/// The format that a file shows. Only regular files are looked into, also as standard input. A path without a
/// file can be the prefix of a checkpoint of TensorFlow.
fn format_of(path: &Path) -> Option<Readable> {
    if path.as_os_str() == "-" {
        let (file, metadata) = stdin_file().ok()?;
        return metadata.and_then(|_| readable_format(&file, path).ok().flatten());
    }
    match fs::metadata(path) {
        _ if is_remote(path) => {
            Readable::by_name(Path::new(path.to_string_lossy().split('?').next().unwrap_or_default()))
        }
        Ok(metadata) if metadata.is_file() => {
            File::open(path).ok().and_then(|file| readable_format(&file, path).ok().flatten())
        }
        Err(_) if index_of(path).is_ok() => Some(Readable::TensorFlow),
        _ => Readable::by_name(path),
    }
}

fn found(path: PathBuf) -> Found {
    Found { format: format_of(&path), path }
}

/// The shards of an index, unless all are in safetensors: those are one model.
fn indexed(path: &Path) -> Result<Group, Error> {
    let Ok(index) = ShardIndex::open(path, &ShardLimits::USUAL) else { return Ok(Group::of(path, None)) };
    let folder = path.parent().unwrap_or(Path::new(""));
    if index.shards().any(|shard| ends_with(Path::new(shard), ANY_INDEX)) {
        return Err(Error::bad(path, "shards", "names an index, such as itself, among its shards"));
    }
    let files: Vec<Found> = index.shards().map(|shard| found(folder.join(shard))).collect();
    match files.iter().any(|file| file.format.is_some()) {
        true => Ok(Group { files, index: Some((path.into(), index)) }),
        false => Ok(Group::of(path, None)),
    }
}

fn in_directory(path: &Path) -> Result<Group, Error> {
    if path.join(SAVED_MODEL).is_file() {
        return Ok(Group::of(path, Some(Readable::TensorFlow)));
    }
    let in_safetensors = models_in(path);
    let models = in_safetensors.as_deref().unwrap_or_default();
    if models.iter().any(|model| is_index(model) || CANDIDATES.iter().any(|name| model.ends_with(name))) {
        return Ok(Group::of(path, None));
    }
    let paths = files_in(path).map_err(|error| Error::not_read(path, error))?;
    let such_as = |one: &Path, other: &Path| [one, other].map(|path| quoted(&name_of(path)));
    let mut indexes = paths.iter().filter(|path| ends_with(path, ANY_INDEX));
    match (indexes.next(), indexes.next()) {
        (Some(index), None) => return indexed(index),
        (Some(one), Some(other)) => {
            let [one, other] = such_as(one, other);
            let sentence = format!("has two indexes, {one} and {other}; give one of them");
            return Err(Error::about(path, sentence));
        }
        (None, _) => {}
    }
    let whole = path.join(OF_PYTORCH);
    if whole.is_file() {
        return Ok(Group::of(&whole, format_of(&whole)));
    }
    let model = models.first().map(|path| Found { path: path.clone(), format: None });
    let is_candidate =
        |path: &PathBuf| !name_of(path).starts_with('.') && Readable::has_suffix(path) && path.is_file();
    let others = paths.into_iter().filter(is_candidate).map(found);
    let files: Vec<Found> = model.into_iter().chain(others).collect();
    let name = |file: &Found| file.format.map(Readable::name);
    match &files[..] {
        [one, other, ..] if [one.format, other.format] == [Some(Readable::TensorFlow); 2] => {
            let [one, other] = such_as(&one.path, &other.path);
            let sentence = format!("has several checkpoints, such as {one} and {other}; give one of them");
            Err(Error::about(path, sentence))
        }
        [first, others @ ..] => match others.iter().find(|other| name(other) != name(first)) {
            Some(other) => {
                let [one, other] = such_as(&first.path, &other.path);
                let sentence = format!(
                    "has files of several formats, such as {one} and {other}; give the files that belong \
                     together"
                );
                Err(Error::about(path, sentence))
            }
            None if first.format.is_none() => Ok(Group::of(path, None)),
            None => Ok(Group { files, index: None }),
        },
        [] if in_safetensors.as_ref().is_err_and(|error| error.sentence() == NO_MODEL) => {
            let others = ", and none with a suffix of PyTorch, GGUF, TensorFlow or numpy";
            Err(Error::about(path, format!("{NO_MODEL}{others}")))
        }
        // If its directories have models, opening it names them.
        [] => Ok(Group::of(path, None)),
    }
}

fn ends_with(path: &Path, end: &str) -> bool {
    path.to_string_lossy().ends_with(end)
}

/// Rejects shards of PyTorch and GGUF, by their names, unless all of their model are inputs. The files of an
/// index are complete. One shard is also allowed if the output has the name of the same shard.
///
/// # Errors
/// A shard is missing among the inputs.
pub fn reject_parts(groups: &[Group], output: &Path) -> Result<(), Error> {
    let files = || groups.iter().flat_map(|group| &group.files);
    let given: HashSet<PathBuf> = files().filter_map(|file| file.path.canonicalize().ok()).collect();
    let mut seen = HashSet::new();
    let listed = groups.iter().filter(|group| group.index.is_none()).flat_map(|group| &group.files);
    // The formats whose shards are known by their names.
    let is_named = |file: &&Found| matches!(file.format, Some(Readable::PyTorch | Readable::Gguf));
    for Found { path, .. } in listed.filter(is_named) {
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
