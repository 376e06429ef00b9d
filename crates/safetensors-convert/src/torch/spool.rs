//! What was unpacked of a file, because parts of it are read.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The number of bytes that are written at once.
const AT_ONCE: usize = 1 << 18;

/// An unnamed file with the bytes of storages, each of which is unpacked only once.
#[derive(Debug, Default)]
pub(super) struct Spool {
    /// Created when it is needed.
    file: OnceLock<File>,
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    /// Where the bytes of each storage begin.
    places: HashMap<u32, u64>,
    /// The number of bytes of all.
    len: u64,
}

impl Spool {
    /// Returns the file that has the bytes of a storage, and where they begin. Opens and reads them if that
    /// was not done before.
    pub fn place<'b>(
        &self,
        storage: u32,
        open: impl FnOnce() -> io::Result<Box<dyn Read + 'b>>,
    ) -> io::Result<(&File, u64)> {
        let file = self.file()?;
        let at = self.once(storage, open, |source, written| {
            let at = written.len;
            let mut output = BufWriter::with_capacity(AT_ONCE, file);
            output.seek(SeekFrom::Start(at)).map_err(|error| not_unpacked(&error))?;
            let (mut buffer, mut copied) = (vec![0; AT_ONCE], 0);
            while let len @ 1.. = source.read(&mut buffer)? {
                output
                    .write_all(buffer.get(..len).unwrap_or_default())
                    .map_err(|error| not_unpacked(&error))?;
                copied += len as u64;
            }
            output.flush().map_err(|error| not_unpacked(&error))?;
            written.len += copied;
            Ok(at)
        })?;
        Ok((file, at))
    }

    /// Reads all bytes of a storage if that was not done before, because only its end has a checksum.
    pub fn check<'b>(
        &self,
        storage: u32,
        open: impl FnOnce() -> io::Result<Box<dyn Read + 'b>>,
    ) -> io::Result<()> {
        let read = |source: &mut dyn Read, _: &mut Written| {
            let mut buffer = vec![0; AT_ONCE];
            while source.read(&mut buffer)? > 0 {}
            Ok(0)
        };
        self.once(storage, open, read).map(drop)
    }

    fn once<'b>(
        &self,
        storage: u32,
        open: impl FnOnce() -> io::Result<Box<dyn Read + 'b>>,
        read: impl FnOnce(&mut dyn Read, &mut Written) -> io::Result<u64>,
    ) -> io::Result<u64> {
        let lock = || self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().places.get(&storage).copied();
        if let Some(at) = known {
            return Ok(at);
        }
        // Opening may itself need a place.
        let mut source = open()?;
        let mut written = lock();
        let at = read(&mut *source, &mut written)?;
        written.places.insert(storage, at);
        Ok(at)
    }

    /// Returns the number of bytes that were unpacked.
    #[cfg(test)]
    pub fn len(&self) -> u64 {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).len
    }

    fn file(&self) -> io::Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = tempfile::tempfile().map_err(|error| not_unpacked(&error))?;
        Ok(self.file.get_or_init(|| file))
    }
}

/// Returns an error of the temporary file, which is none of the file that is read.
fn not_unpacked(error: &io::Error) -> io::Error {
    let directory = crate::text::shown_text(&std::env::temp_dir().to_string_lossy());
    io::Error::other(format!("it cannot be unpacked in the temporary directory {directory}: {error}"))
}
