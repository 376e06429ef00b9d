//! Storage behind `Read`, `Write` and `Seek` of `embedded_io`.

use super::eio::{Read, Seek, SeekFrom, Write};
use super::{ReadAt, WriteAt, form, invalidate, write_full};
use crate::io::FileLen;
use crate::io::kinds::uninterrupted;
use crate::io::write::{PREFIX, WriteError, reject_longer};

/// An adapter for types with `Read` and `Seek`, such as a file of embedded-sdmmc. A file of `std` works
/// through `embedded-io-adapters`; one of littlefs2 needs a [`ReadAt`] of your own, which the guide shows.
/// If the type also has `Write`, a file can be recorded there.
///
/// It seeks only if a read or write does not continue the one before. It repeats a call that returns
/// `Interrupted`. After any other error it seeks before the next read or write, so you can repeat the
/// operation.
///
/// *Memory*: 16 bytes and that of `T`.
///
/// ```
/// use embedded_io::{Read, Seek};
/// use embedded_safetensors::{Model, ReadError, io::Seekable};
///
/// fn open<F: Read + Seek>(file: F) -> Result<Model<Seekable<F>>, ReadError<F::Error>> {
///     Model::open(Seekable::new(file), &mut [0; 512])
/// }
/// ```
///
/// # Cancel safety
/// Its futures may be dropped, even if those of `T` may have moved the position or read bytes already: after
/// an incomplete call, it seeks before it reads.
#[form]
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Seekable<T> {
    inner: T,
    /// The position of `inner`, if it is known. It is not known during a call, so not after a future was
    /// dropped either.
    position: Option<u64>,
}

impl<T> Seekable<T> {
    /// Wraps `inner`, whatever its position. Byte 0 is the first of the file.
    pub const fn new(inner: T) -> Self {
        Self { inner, position: None }
    }

    /// Returns the wrapped value, whatever its position.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

#[form]
impl<T: Seek> Seekable<T> {
    async fn seek(&mut self, to: SeekFrom) -> Result<u64, T::Error> {
        self.position = None;
        uninterrupted!(self.inner.seek(to).await)
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
        let outcome = uninterrupted!(self.inner.read(buffer).await);
        self.position = outcome.as_ref().ok().and_then(|len| offset.checked_add(*len as u64));
        outcome
    }

    async fn file_len(&mut self) -> Result<FileLen, T::Error> {
        self.seek(SeekFrom::End(0)).await.map(FileLen::Exactly)
    }
}

/// It never seeks beyond the end of a file, which some types cannot: [`prepare`](WriteAt::prepare) writes
/// filler up to the start of the data. These traits cannot shorten a longer file, so it is rejected
/// ([`ErrorKind::Longer`](crate::ErrorKind::Longer)): truncate it when you open it, or remove it first.
#[form]
impl<T: Write + Seek> WriteAt for Seekable<T> {
    type Error = T::Error;

    async fn capacity(&mut self) -> Result<Option<u64>, T::Error> {
        Ok(None)
    }

    async fn prepare(&mut self, data_start: u64, file_len: u64) -> Result<(), WriteError<T::Error>> {
        let len = self.seek(SeekFrom::End(0)).await.map_err(WriteError::Sink)?;
        reject_longer(len, file_len)?;
        invalidate(self, len).await?;
        fill(self, len.max(PREFIX as u64), data_start).await
    }

    async fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, T::Error> {
        if self.position != Some(offset) {
            self.seek(SeekFrom::Start(offset)).await?;
        }
        self.position = None;
        let outcome = uninterrupted!(self.inner.write(bytes).await);
        self.position = outcome.as_ref().ok().and_then(|len| offset.checked_add(*len as u64));
        outcome.map(|len| len.min(bytes.len()))
    }

    async fn flush(&mut self) -> Result<(), T::Error> {
        // The position stays the same, unless that fails.
        let position = self.position.take();
        let outcome = uninterrupted!(self.inner.flush().await);
        self.position = position.filter(|_| outcome.is_ok());
        outcome
    }
}

/// Writes filler from byte `from` up to byte `to`.
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
