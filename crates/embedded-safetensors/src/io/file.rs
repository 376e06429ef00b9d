//! Files of an operating system, with positioned reads and writes.

use super::invalidate;
use super::write::PREFIX;
use super::{FileLen, ReadAt, ReadError, WriteAt, WriteError};
use std::fs::File;
use std::io;
use std::string::ToString;

/// Uses positioned reads, so that several readers can share one file. A pipe or a device, whose length is not
/// known, has [`FileLen::Unknown`].
impl ReadAt for &File {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, io::Error> {
        loop {
            match read_at(self, offset, buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    fn file_len(&mut self) -> Result<FileLen, io::Error> {
        let metadata = self.metadata()?;
        Ok(if metadata.is_file() { FileLen::Exactly(metadata.len()) } else { FileLen::Unknown })
    }
}

impl ReadAt for File {
    type Error = io::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, io::Error> {
        (&*self).read_at(offset, buffer)
    }

    fn file_len(&mut self) -> Result<FileLen, io::Error> {
        (&*self).file_len()
    }
}

#[cfg(unix)]
fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

impl From<ReadError<io::Error>> for io::Error {
    /// Converts an error of the storage unchanged, an early end of the file to
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof), and all others as [`Error`](crate::Error) is
    /// converted.
    fn from(error: ReadError<io::Error>) -> Self {
        match error {
            ReadError::Source(error) => error,
            ReadError::Format(error) => error.into(),
            ReadError::UnexpectedEof { .. } => Self::new(io::ErrorKind::UnexpectedEof, error.to_string()),
        }
    }
}

/// Uses positioned writes. A regular file is truncated; a device is overwritten. A file that is open for
/// appending is rejected: the system writes at its end, whatever the position.
///
/// To keep the old file until the new one is complete, write to another file and rename that.
impl WriteAt for &File {
    type Error = io::Error;

    fn capacity(&mut self) -> Result<Option<u64>, io::Error> {
        Ok(None)
    }

    fn prepare(&mut self, data_start: u64, _file_len: u64) -> Result<(), WriteError<io::Error>> {
        let len = truncate(self).map_err(WriteError::Sink)?;
        invalidate(self, len)?;
        reject_appending(self, data_start).map_err(WriteError::Sink)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, io::Error> {
        loop {
            match write_at(self, offset, bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    fn flush(&mut self) -> Result<(), io::Error> {
        self.sync_all()
    }
}

impl WriteAt for File {
    type Error = io::Error;

    fn capacity(&mut self) -> Result<Option<u64>, io::Error> {
        (&*self).capacity()
    }

    fn prepare(&mut self, data_start: u64, file_len: u64) -> Result<(), WriteError<io::Error>> {
        (&*self).prepare(data_start, file_len)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, io::Error> {
        (&*self).write_at(offset, bytes)
    }

    fn flush(&mut self) -> Result<(), io::Error> {
        WriteAt::flush(&mut &*self)
    }
}

/// Truncates the file, and returns how many bytes may be left.
fn truncate(file: &File) -> io::Result<u64> {
    if !file.metadata()?.is_file() {
        return Ok(PREFIX as u64);
    }
    file.set_len(0)?;
    Ok(0)
}

/// Fails if the file is open for appending: the last byte of the header is then written to another position.
fn reject_appending(mut file: &File, data_start: u64) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    file.write_at(data_start.saturating_sub(1), &[0xFF])?;
    match file.metadata()?.len() {
        len if len == data_start => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "the file is open for appending")),
    }
}

impl From<WriteError<io::Error>> for io::Error {
    /// Converts an error of the sink unchanged, a full sink to [`WriteZero`](io::ErrorKind::WriteZero), and
    /// all others as [`Error`](crate::Error) and [`SpecError`](crate::write::SpecError) are converted.
    fn from(error: WriteError<io::Error>) -> Self {
        match error {
            WriteError::Sink(error) => error,
            WriteError::Format(error) => error.into(),
            WriteError::Spec(error) => error.into(),
            WriteError::Full { .. } => Self::new(io::ErrorKind::WriteZero, error.to_string()),
        }
    }
}

#[cfg(unix)]
fn write_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset)
}
