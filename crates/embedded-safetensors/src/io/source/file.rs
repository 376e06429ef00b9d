//! Files of an operating system, by positioned reads.

use crate::source::{FileLen, ReadAt, ReadError};
use std::fs::File;
use std::io;
use std::string::ToString;

/// By positioned reads, so that several readers can share one file. A pipe or a device, whose length
/// nobody knows, has [`FileLen::Unknown`].
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
    /// An error of the storage as it is, [`UnexpectedEof`](io::ErrorKind::UnexpectedEof), and as
    /// [`Error`](crate::Error) turns into one.
    fn from(error: ReadError<io::Error>) -> Self {
        match error {
            ReadError::Source(error) => error,
            ReadError::Format(error) => error.into(),
            ReadError::UnexpectedEof { .. } => Self::new(io::ErrorKind::UnexpectedEof, error.to_string()),
        }
    }
}
