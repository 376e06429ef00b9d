//! Finds the models in directories.

use crate::failure::NotRead;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The sentence about a directory without models.
pub const NO_MODEL: &str = "contains no *.safetensors and no *.safetensors.index.json file";

/// A path to check, or the reason why it cannot be checked.
pub type Found = (PathBuf, Result<(), NotRead>);

/// An argument itself, or all models below it if it is a directory, sorted by path.
pub fn expand(path: &Path) -> Vec<Found> {
    if path.as_os_str() == "-" || !path.is_dir() {
        return vec![(path.to_path_buf(), Ok(()))];
    }
    let found = Walk::default().through(path);
    if found.is_empty() {
        return vec![(path.to_path_buf(), Err(NotRead::that(NO_MODEL)))];
    }
    found
}

/// Whether a file in a directory is a model, by its name. Other programs keep unfinished or private files
/// under hidden names.
pub fn is_model(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    !is_hidden(name) && (ends_with(name, ".safetensors") || ends_with(name, ".safetensors.index.json"))
}

fn ends_with(name: &OsStr, end: &str) -> bool {
    name.as_encoded_bytes().ends_with(end.as_bytes())
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[derive(Default)]
struct Walk {
    /// A directory that links lead to again is skipped: it may be a parent.
    seen: HashSet<PathBuf>,
    folders: Vec<PathBuf>,
    found: Vec<Found>,
}

impl Walk {
    fn through(mut self, root: &Path) -> Vec<Found> {
        self.folders.push(root.to_path_buf());
        while let Some(folder) = self.folders.pop() {
            if let Err(error) = self.look_into(&folder) {
                self.found.push((folder, Err(error.into())));
            }
        }
        self.found.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.found
    }

    fn look_into(&mut self, folder: &Path) -> io::Result<()> {
        if !self.seen.insert(fs::canonicalize(folder)?) {
            return Ok(());
        }
        let mut folders = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (name, path) = (entry.file_name(), entry.path());
            match () {
                () if is_hidden(&name) => {}
                () if is_folder(&entry, &path)? => folders.push(path),
                () if is_model(&path) => self.found.push((path, Ok(()))),
                () => {}
            }
        }
        // The last one is visited next.
        folders.sort_by(|one, other| other.cmp(one));
        self.folders.extend(folders);
        Ok(())
    }
}

/// Follows links.
fn is_folder(entry: &fs::DirEntry, path: &Path) -> io::Result<bool> {
    let kind = entry.file_type()?;
    Ok(if kind.is_symlink() { path.is_dir() } else { kind.is_dir() })
}
