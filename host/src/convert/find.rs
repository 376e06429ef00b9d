//! Finds the files that an input consists of, and their formats.

use crate::args::remote::is_remote;
use crate::error::Error;
use crate::input::discover::{INDEX_END, files_in, models_in, name_of};
use crate::input::foreign::{Readable, readable_format};
use crate::input::model::is_index;
use crate::input::walk::NO_MODEL;
use crate::text::quoted;
use safetensors_convert::tensorflow::index_of;
use safetensors_files::shards::{ShardIndex, ShardLimits};
use safetensors_remote::CANDIDATES;
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

/// The format that a file shows. Only regular files are looked into. A path without a file can be the prefix
/// of a checkpoint of TensorFlow.
fn format_of(path: &Path) -> Option<Readable> {
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
    let others = paths.into_iter().filter(|path| is_candidate(path)).map(found);
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

/// Whether a file in a directory is one to convert: a regular file with the suffix of a format.
fn is_candidate(path: &Path) -> bool {
    !name_of(path).starts_with('.') && Readable::has_suffix(path) && path.is_file()
}

fn ends_with(path: &Path, end: &str) -> bool {
    path.to_string_lossy().ends_with(end)
}
