//! Finds files in directories.

use crate::error::not_read::NotRead;
use crate::input::discover::without_models;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The sentence about a directory without models.
pub const NO_MODEL: &str = "contains no *.safetensors and no *.safetensors.index.json file";

/// A path to check, or the reason why it cannot be checked.
pub type Found = (PathBuf, Result<(), NotRead>);

/// The files of a directory that a command wants, by the ends of their names.
pub struct Wanted {
    /// In small letters; names may have capitals.
    ends: &'static [&'static str],
    /// Whether hidden files and directories count.
    has_hidden: bool,
    /// A predicate of a directory that has none.
    nothing: fn(&Path) -> String,
}

impl Wanted {
    fn has(&self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes().to_ascii_lowercase();
        self.ends.iter().any(|end| name.ends_with(end.as_bytes()))
    }
}

/// Models in safetensors.
pub const MODELS: Wanted =
    Wanted { ends: &[".safetensors", ".safetensors.index.json"], has_hidden: false, nothing: without_models };

/// Files that may have pickles, which must not be able to hide.
pub const PICKLES: Wanted = Wanted {
    ends: &[
        ".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle", ".pk", ".p", ".joblib", ".dill", ".npy", ".npz",
        ".zip", ".mar", ".pt2", ".onnx",
    ],
    has_hidden: true,
    nothing: |_| "contains no file with a suffix of pickles, such as .pt, .bin and .pkl".into(),
};

/// An argument itself, or all files below it that are wanted if it is a directory, sorted by path.
pub fn expand(path: &Path, wanted: &'static Wanted) -> Vec<Found> {
    if path.as_os_str() == "-" || !path.is_dir() {
        return vec![(path.to_path_buf(), Ok(()))];
    }
    let mut walk = Walk { wanted, seen: HashSet::new(), folders: vec![path.into()], found: Vec::new() };
    while let Some(folder) = walk.folders.pop() {
        if let Err(error) = walk.look_into(&folder) {
            walk.found.push((folder, Err(error.into())));
        }
    }
    let mut found = walk.found;
    if found.is_empty() {
        return vec![(path.to_path_buf(), Err(NotRead::That((wanted.nothing)(path))))];
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

/// Whether a file in a directory is a model, by its name. Other programs keep unfinished or private files
/// under hidden names.
pub fn is_model(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    !is_hidden(name) && MODELS.has(name)
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

struct Walk {
    wanted: &'static Wanted,
    /// A directory that links lead to again is skipped: it may be a parent.
    seen: HashSet<PathBuf>,
    folders: Vec<PathBuf>,
    found: Vec<Found>,
}

impl Walk {
    fn look_into(&mut self, folder: &Path) -> io::Result<()> {
        if !self.seen.insert(fs::canonicalize(folder)?) {
            return Ok(());
        }
        let mut folders = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (name, path, kind) = (entry.file_name(), entry.path(), entry.file_type()?);
            // Follows links.
            let is_folder = kind.is_dir() || (kind.is_symlink() && path.is_dir());
            match () {
                () if is_hidden(&name) && !self.wanted.has_hidden => {}
                () if is_folder => folders.push(path),
                () if self.wanted.has(&name) => self.found.push((path, Ok(()))),
                () => {}
            }
        }
        // The last one is visited next.
        folders.sort_by(|one, other| other.cmp(one));
        self.folders.extend(folders);
        Ok(())
    }
}
