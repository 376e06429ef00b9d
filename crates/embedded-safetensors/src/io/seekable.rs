//! Storage behind `Read`, `Write` and `Seek` of `embedded_io`.

use super::eio::{Error, ErrorKind, Read, Seek, SeekFrom, Write};
use super::{ReadAt, WriteAt, form, invalidate, write_full};
use crate::io::FileLen;
use crate::io::write::{PREFIX, WriteError, refuse_longer};

/// Makes a source of whatever has `Read` and `Seek`: a file of embedded-sdmmc
/// or littlefs, and with the adapters of `embedded-io-adapters` one of `std`. Where it has `Write`, too, a file can be
/// recorded there.
///
/// It seeks only where the next read or write does not go on from the one before. A call that was interrupted is
/// made again. After any other error it seeks before it reads or writes, so that can be tried again.
///
/// # Cancel safety
/// Its futures may be dropped, even where those of `T` may have moved `T` or read something already: after a call
/// that did not come to its end, it seeks before it reads.
///
/// *Memory*: 16 bytes and what `T` takes.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Seekable<T> {
    inner: T,
    /// Where `inner` stands, if that is known. It is not while a call is under way, so not after a
    /// future was dropped either.
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

// Loops, not a function that takes an async closure: futures of such closures are not known to be `Send`.
#[form]
impl<T: Seek> Seekable<T> {
    async fn seek(&mut self, to: SeekFrom) -> Result<u64, T::Error> {
        self.position = None;
        loop {
            match self.inner.seek(to).await {
                Err(error) if is_interruption(&error) => {}
                outcome => return outcome,
            }
        }
    }
}

#[form]
impl<T: Read + Seek> ReadAt for Seekable<T> {
    type Error = T::Error;

    async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, T::Error> {
        if self.position != Some(offset) {
            self.seek(SeekFrom::Start(offset)).await?;
        }
        self.position = None;
        loop {
            match self.inner.read(buffer).await {
                Err(error) if is_interruption(&error) => {}
                outcome => {
                    self.position = outcome.as_ref().ok().and_then(|len| offset.checked_add(*len as u64));
                    return outcome;
                }
            }
        }
    }

    async fn file_len(&mut self) -> Result<FileLen, T::Error> {
        self.seek(SeekFrom::End(0)).await.map(FileLen::Exactly)
    }
}

fn is_interruption(error: &impl Error) -> bool {
    error.kind() == ErrorKind::Interrupted
}

/// Where a file ends is never passed over by seeking, which some cannot: [`prepare`](WriteAt::prepare) writes filler up to where the data
/// begin. A longer file cannot be made shorter by these traits, so it is refused
/// ([`ErrorKind::Longer`](crate::ErrorKind::Longer)): open it so that it is cut, or remove it first.
#[form]
impl<T: Write + Seek> WriteAt for Seekable<T> {
    type Error = T::Error;

    async fn capacity(&mut self) -> Result<Option<u64>, T::Error> {
        Ok(None)
    }

    async fn prepare(&mut self, data_start: u64, file_len: u64) -> Result<(), WriteError<T::Error>> {
        let len = self.seek(SeekFrom::End(0)).await.map_err(WriteError::Sink)?;
        refuse_longer(len, file_len)?;
        invalidate(self, len).await?;
        fill(self, len.max(PREFIX as u64), data_start).await
    }

    async fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, T::Error> {
        if self.position != Some(offset) {
            self.seek(SeekFrom::Start(offset)).await?;
        }
        self.position = None;
        loop {
            match self.inner.write(bytes).await {
                Err(error) if is_interruption(&error) => {}
                outcome => {
                    self.position = outcome.as_ref().ok().and_then(|len| offset.checked_add(*len as u64));
                    return outcome.map(|len| len.min(bytes.len()));
                }
            }
        }
    }

    async fn flush(&mut self) -> Result<(), T::Error> {
        // It stays where it stands, unless that fails.
        let position = self.position.take();
        loop {
            match self.inner.flush().await {
                Err(error) if is_interruption(&error) => {}
                outcome => {
                    self.position = position.filter(|_| outcome.is_ok());
                    return outcome;
                }
            }
        }
    }
}

/// Writes filler from one byte to another.
#[form]
async fn fill<S: WriteAt>(sink: &mut S, from: u64, to: u64) -> Result<(), WriteError<S::Error>> {
    const FILLER: [u8; 64] = [0xFF; 64];
    let mut at = from;
    while at < to {
        let len = usize::try_from(to - at).unwrap_or(usize::MAX).min(FILLER.len());
        write_full(sink, at, FILLER.get(..len).unwrap_or(&FILLER)).await?;
        at += len as u64;
    }
    Ok(())
}
