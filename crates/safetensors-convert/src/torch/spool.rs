//! What was unpacked of a file, because parts of it are read.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The number of bytes that are written at once.
const AT_ONCE: usize = 1 << 18;

/// An unnamed file with the bytes of storages, each of which is unpacked only once.
#[derive(Debug, Default)]
pub(super) struct Spool {
    /// Created when it is needed.
    pub file: OnceLock<File>,
    /// Where the bytes of each storage begin.
    places: Mutex<HashMap<u32, u64>>,
}

impl Spool {
    /// Returns the file that has the bytes of a storage, and where they begin. Opens and reads them if that
    /// was not done before.
    pub fn place<'b>(
        &self,
        storage: u32,
        open: impl FnOnce() -> io::Result<Box<dyn Read + Send + 'b>>,
    ) -> io::Result<(&File, u64)> {
        if self.file.get().is_none() {
            let file = tempfile::tempfile().map_err(|error| not_unpacked(&error))?;
            self.file.get_or_init(|| file);
        }
        let file = self.file.get().ok_or(io::ErrorKind::NotFound)?;
        Ok((file, self.read(storage, open, Some(file))?))
    }

    /// Reads all bytes of a storage if that was not done before: because only its end has a checksum, or to
    /// write them to the file. Returns where they begin there.
    pub fn read<'b>(
        &self,
        storage: u32,
        open: impl FnOnce() -> io::Result<Box<dyn Read + Send + 'b>>,
        file: Option<&File>,
    ) -> io::Result<u64> {
        let lock = || self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&storage).copied();
        if let Some(at) = known {
            return Ok(at);
        }
        // Opening may itself need a place.
        let mut source = open()?;
        let mut places = lock();
        let end = |mut file: &File| file.seek(SeekFrom::End(0)).map_err(|error| not_unpacked(&error));
        let at = file.map_or(Ok(0), end)?;
        let mut buffer = vec![0; AT_ONCE];
        while let len @ 1.. = source.read(&mut buffer)? {
            let Some(mut file) = file else { continue };
            end(file)?;
            let bytes = buffer.get(..len).unwrap_or_default();
            file.write_all(bytes).map_err(|error| not_unpacked(&error))?;
        }
        places.insert(storage, at);
        Ok(at)
    }
}

/// Returns an error of the temporary file, which is none of the file that is read.
fn not_unpacked(error: &io::Error) -> io::Error {
    let directory = crate::text::shown_text(&std::env::temp_dir().to_string_lossy());
    io::Error::other(format!("it cannot be unpacked in the temporary directory {directory}: {error}"))
}
