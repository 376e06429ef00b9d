//! The models in folders.

use crate::failure::NotRead;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Something that is to be looked at, or why it cannot be.
pub type Found = (PathBuf, Result<(), NotRead>);

/// What an argument stands for: itself, or, if it is a folder, all models below it, sorted by their paths.
pub fn expand(path: &Path) -> Vec<Found> {
    if path.as_os_str() == "-" || !path.is_dir() {
        return vec![(path.to_path_buf(), Ok(()))];
    }
    let found = Walk::default().through(path);
    if found.is_empty() {
        let reason = "there is no *.safetensors and no *.safetensors.index.json in this folder";
        return vec![(path.to_path_buf(), Err(NotRead::because(reason)))];
    }
    found
}

fn is_model(name: &OsStr) -> bool {
    ends_with(name, ".safetensors") || ends_with(name, ".safetensors.index.json")
}

fn ends_with(name: &OsStr, end: &str) -> bool {
    name.as_encoded_bytes().ends_with(end.as_bytes())
}

/// Other programs keep there what is not finished, or not for others.
fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[derive(Default)]
struct Walk {
    /// Where links lead to a folder once more, it is left out: it may be one above.
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
                () if is_model(&name) => self.found.push((path, Ok(()))),
                () => {}
            }
        }
        // The last one is looked into next.
        folders.sort_by(|one, other| other.cmp(one));
        self.folders.extend(folders);
        Ok(())
    }
}

/// A link is what it leads to.
fn is_folder(entry: &fs::DirEntry, path: &Path) -> io::Result<bool> {
    let kind = entry.file_type()?;
    Ok(if kind.is_symlink() { path.is_dir() } else { kind.is_dir() })
}
