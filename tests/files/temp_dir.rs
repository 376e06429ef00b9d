//! A temporary directory of one test, which is removed automatically.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use safetensors_files::{EditError, ModelEditor, write_file};
use support::dictionary::Dictionary;
use support::verdict::full_verdict;
use support::writing::Description;

pub struct TempDir(PathBuf);

impl TempDir {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("embedded-safetensors-files-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a new directory");
        Self(path.canonicalize().expect("present"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file with these bytes.
    pub fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, bytes).expect("succeeds");
        path
    }

    /// Returns the names of all entries, sorted.
    pub fn names(&self) -> Vec<String> {
        names_in(&self.0)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the names of all entries of a directory, sorted.
pub fn names_in(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).expect("present");
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("a plain name");
    let mut names: Vec<String> = entries.map(|entry| name(entry.expect("readable"))).collect();
    names.sort();
    names
}

/// Writes a file with all tensors of the dictionary, in its order.
pub fn write(path: &Path, dictionary: &Dictionary) -> Result<(), EditError> {
    write_file(path, Description::new(dictionary).spec(), |file| {
        dictionary.tensors.iter().try_for_each(|tensor| file.write_tensor(&tensor.name, &tensor.bytes))
    })
}

/// Returns the dictionary of a valid file, in any order and with shapes of any rank, and the offset of its
/// data.
pub fn read(file: &[u8]) -> (Dictionary, u64) {
    let table = full_verdict(file).unwrap_or_else(|error| panic!("{error}"));
    let start = 8 + u64::from_le_bytes(*file.first_chunk().expect("valid file"));
    let data = &file[usize::try_from(start).expect("fits in usize")..];
    (Dictionary::from_table(&table, data), start)
}

pub fn names<'e>(editor: &'e ModelEditor<'_>) -> Vec<&'e str> {
    editor.tensors().map(|tensor| tensor.name()).collect()
}

/// Returns the message of an error, with the directory's path as a dot.
pub fn message<T>(dir: &TempDir, outcome: Result<T, impl Display>) -> String {
    let error = outcome.map(drop).expect_err("fails");
    error.to_string().replace(dir.path().to_str().expect("a plain path"), ".")
}
