//! Storage behind `embedded_io::{Write, Seek}`.

use super::{PREFIX, WriteAt, invalidate, refuse_longer, write_full};
use crate::source::io::Seekable;
use crate::write::error::WriteError;
use embedded_io::{Seek, SeekFrom, Write};

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
