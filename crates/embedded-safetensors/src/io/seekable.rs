//! Storage that has `embedded_io::{Read, Write, Seek}`, and tensors as `embedded_io::Read`.

use super::write::{PREFIX, invalidate, refuse_longer, write_full};
use super::{FileLen, ReadAt, ReadError, WriteAt, WriteError};
use crate::error::Blame;
use embedded_io::{Error, ErrorKind, Read, Seek, SeekFrom, Write};

/// Makes a source of whatever has [`embedded_io::Read`] and [`embedded_io::Seek`]: a file of embedded-sdmmc
/// or littlefs, and with the adapters of `embedded-io-adapters` one of `std`. With [`embedded_io::Write`] a file can be
/// recorded there.
///
/// It seeks only where the next read or write does not go on from the one before. A call that was interrupted is
/// made again. After any other error it seeks before it reads or writes, so that can be tried again.
///
/// *Memory*: 16 bytes and what `T` takes.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Seekable<T> {
    inner: T,
    /// Where `inner` stands, if that is known.
    position: Option<u64>,
}

impl<T> Seekable<T> {
    /// Wherever `inner` stands now, byte 0 is the first of the file.
    pub const fn new(inner: T) -> Self {
        Self { inner, position: None }
    }

    /// Gives back what was wrapped, wherever it stands.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: Seek> Seekable<T> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64, T::Error> {
        self.position = None;
        uninterrupted(|| self.inner.seek(to))
    }

    /// Reads or writes at this byte: what the call says is how far it went.
    fn at(
        &mut self,
        offset: u64,
        mut call: impl FnMut(&mut T) -> Result<usize, T::Error>,
    ) -> Result<usize, T::Error> {
        if self.position != Some(offset) {
            self.seek(SeekFrom::Start(offset))?;
        }
        self.position = None;
        let len = uninterrupted(|| call(&mut self.inner))?;
        self.position = offset.checked_add(len as u64);
        Ok(len)
    }

    /// A call that leaves it where it stands, unless it fails.
    fn in_place(&mut self, mut call: impl FnMut(&mut T) -> Result<(), T::Error>) -> Result<(), T::Error> {
        let position = self.position.take();
        uninterrupted(|| call(&mut self.inner))?;
        self.position = position;
        Ok(())
    }
}

impl<T: Read + Seek> ReadAt for Seekable<T> {
    type Error = T::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, T::Error> {
        self.at(offset, |inner| inner.read(buffer))
    }

    fn file_len(&mut self) -> Result<FileLen, T::Error> {
        self.seek(SeekFrom::End(0)).map(FileLen::Exactly)
    }
}

fn uninterrupted<T, E: Error>(mut call: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

impl<E: Error> Error for ReadError<E> {
    /// What the storage says of its own errors; `InvalidData` for a bad file or one that ends too early,
    /// `OutOfMemory` for a limit, `InvalidInput` for a caller's mistake.
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Source(error) => error.kind(),
            Self::UnexpectedEof { .. } => ErrorKind::InvalidData,
            Self::Format(error) => match error.kind.blame() {
                Blame::File => ErrorKind::InvalidData,
                Blame::Limit => ErrorKind::OutOfMemory,
                Blame::Usage => ErrorKind::InvalidInput,
            },
        }
    }
}

/// Where a file ends is never passed over by seeking, which some cannot: [`prepare`](WriteAt::prepare) writes filler up to where the data
/// begin. A longer file cannot be made shorter by these traits, so it is refused
/// ([`ErrorKind::Longer`](crate::ErrorKind::Longer)): open it so that it is cut, or remove it first.
impl<T: Write + Seek> WriteAt for Seekable<T> {
    type Error = T::Error;

    fn capacity(&mut self) -> Result<Option<u64>, T::Error> {
        Ok(None)
    }

    fn prepare(&mut self, data_start: u64, file_len: u64) -> Result<(), WriteError<T::Error>> {
        let len = self.seek(SeekFrom::End(0)).map_err(WriteError::Sink)?;
        refuse_longer(len, file_len)?;
        invalidate(self, len)?;
        fill(self, len.max(PREFIX as u64), data_start)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, T::Error> {
        let len = self.at(offset, |inner| inner.write(bytes))?;
        Ok(len.min(bytes.len()))
    }

    fn flush(&mut self) -> Result<(), T::Error> {
        self.in_place(T::flush)
    }
}

/// Writes filler from one byte to another.
fn fill<S: WriteAt>(sink: &mut S, from: u64, to: u64) -> Result<(), WriteError<S::Error>> {
    const FILLER: [u8; 64] = [0xFF; 64];
    let mut at = from;
    while at < to {
        let len = usize::try_from(to - at).unwrap_or(usize::MAX).min(FILLER.len());
        write_full(sink, at, FILLER.get(..len).unwrap_or(&FILLER))?;
        at += len as u64;
    }
    Ok(())
}
