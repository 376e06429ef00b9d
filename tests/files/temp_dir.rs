//! A folder of one test, that leaves nothing behind.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use safetensors_files::{EditError, ModelEditor, write_file};
use support::dictionary::Dictionary;
use support::verdict::judge;
use support::writing::Description;

pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("embedded-safetensors-files-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a new folder");
        Self(path.canonicalize().expect("it is there"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file with these bytes.
    pub fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, bytes).expect("there is room");
        path
    }

    /// The names of all that is in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("it is there");
        let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("a plain name");
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("it can be read"))).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes a file with everything that the dictionary has, tensor by tensor in its order.
pub fn write(path: &Path, dictionary: &Dictionary) -> Result<(), EditError> {
    write_file(path, Description::new(dictionary).spec(), |file| {
        dictionary.tensors.iter().try_for_each(|tensor| file.write_tensor(&tensor.name, &tensor.bytes))
    })
}

/// What stands in a sound file, with headers in any order and shapes of any rank; and where its data begin.
pub fn read(file: &[u8]) -> (Dictionary, u64) {
    let table = judge(file).unwrap_or_else(|error| panic!("{error}"));
    let start = 8 + u64::from_le_bytes(*file.first_chunk().expect("it is sound"));
    let data = &file[usize::try_from(start).expect("it is in memory")..];
    (Dictionary::from_table(&table, data), start)
}

pub fn names(editor: &ModelEditor) -> Vec<&str> {
    editor.tensors().map(|tensor| tensor.name()).collect()
}

/// The sentence of an error, with the folder's path as a dot.
pub fn sentence<T>(folder: &Folder, outcome: Result<T, impl Display>) -> String {
    let error = outcome.map(drop).expect_err("it cannot be done");
    error.to_string().replace(folder.path().to_str().expect("a plain path"), ".")
}
