//! Temporary files on disk. They stay in the system's cache after they are written, and are removed when
//! they are dropped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use super::headers::Model;

pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    pub fn new(bytes: &[u8]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("bench-{}-{count}.safetensors", process::id()));
        fs::write(&path, bytes).expect("space for a temporary file");
        Self { path }
    }

    pub fn of(model: &Model) -> Self {
        Self::new(&model.bytes)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn open(&self) -> File {
        File::open(&self.path).expect("readable file")
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // A failure is not worth a panic.
        let _ = fs::remove_file(&self.path);
    }
}

/// Adds up all bytes, eight at a time, so that each is read.
pub fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(0, |sum: u64, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| sum.wrapping_add((*byte).into()))
}
