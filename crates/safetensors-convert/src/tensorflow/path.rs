//! Finds the index of a checkpoint by what a user gives for it.

use super::table::is_table;
use crate::error::{ensure, unsound};
use crate::text::quoted;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The suffix of an index.
pub const SUFFIX: &str = ".index";
/// The index in the directory of a SavedModel.
const OF_SAVED_MODEL: &str = "variables/variables.index";

/// Returns the path of the index of the checkpoint that a path names: `NAME.index`, the prefix `NAME` that
/// TensorFlow's functions take, or the directory of a SavedModel.
///
/// # Errors
/// It names another file, as a sentence tells that says what to give; or the system's errors.
pub fn index_of(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() {
        return in_directory(path);
    }
    if name.ends_with(SUFFIX) {
        return Ok(path.to_path_buf());
    }
    if let Some(stem) = shard_stem(&name) {
        let index = quoted(&format!("{stem}{SUFFIX}"));
        return Err(unsound(format!("this is a data file of a checkpoint; give its index, {index}")));
    }
    let is_graph = name == "saved_model.pb";
    ensure(!is_graph, || "this is the graph of a SavedModel; give the directory that has it")?;
    let index = with_suffix(path, SUFFIX);
    if index.is_file() {
        return Ok(index);
    }
    // Opening a pipe without a writer would block.
    ensure(fs::metadata(path)?.is_file(), || "this is neither a file nor a directory")?;
    let list = "this is the list of the checkpoints of its directory; give one's NAME.index";
    ensure(name != "checkpoint", || list)?;
    Err(unsound(match is_table(&File::open(path)?)? {
        true => format!(
            "{} does not exist beside it: this may be a V1 checkpoint, which is not supported; load and save \
             it with version 0.12 or later, which writes V2",
            quoted(&format!("{name}{SUFFIX}"))
        ),
        false => "this is not a checkpoint, which has an index NAME.index".to_owned(),
    }))
}

fn in_directory(path: &Path) -> io::Result<PathBuf> {
    // A prefix may have the name of a directory.
    let indexes = [path.join(OF_SAVED_MODEL), with_suffix(path, SUFFIX)];
    indexes.into_iter().find(|index| index.is_file()).ok_or_else(|| {
        unsound(format!(
            "this directory is not a SavedModel with variables: it has no {OF_SAVED_MODEL}; of a checkpoint, \
             give NAME.index"
        ))
    })
}

/// Returns `path` with something after it.
pub fn with_suffix(path: &Path, suffix: impl AsRef<OsStr>) -> PathBuf {
    let mut path = OsString::from(path);
    path.push(suffix);
    path.into()
}

/// Returns what precedes `.data-00000-of-00001` in the name of a data file.
fn shard_stem(name: &str) -> Option<&str> {
    let (stem, numbers) = name.rsplit_once(".data-")?;
    let (number, count) = numbers.split_once("-of-")?;
    let is_number = |text: &str| text.len() >= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(number) && is_number(count)).then_some(stem)
}
