//! Directories for output files.

use crate::error::Error;
use std::fs;
use std::path::Path;

/// A directory that is removed again if it was created for nothing.
pub struct Folder<'p> {
    path: &'p Path,
    made: bool,
}

impl<'p> Folder<'p> {
    /// # Errors
    /// It cannot be created, or is not a directory.
    pub fn make(path: &'p Path) -> Result<Self, Error> {
        match fs::create_dir(path) {
            Ok(()) => Ok(Self { path, made: true }),
            Err(_) if path.is_dir() => Ok(Self { path, made: false }),
            Err(_) if path.exists() => Err(Error::about(path, "is not a directory")),
            Err(error) => Err(Error::cannot_write(path, &error)),
        }
    }

    /// Keeps the directory, even if it is empty.
    pub fn keep(mut self) {
        self.made = false;
    }
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        if self.made {
            // Succeeds only if the directory is empty.
            let _ = fs::remove_dir(self.path);
        }
    }
}
