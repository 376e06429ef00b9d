//! Storage behind `embedded_io_async::{Read, Seek}`.

use super::ReadAt;
use crate::io::FileLen;
use embedded_io_async::{Error, ErrorKind, Read, Seek, SeekFrom};

/// Makes a source of whatever has [`embedded_io_async::Read`] and [`embedded_io_async::Seek`].
///
/// It seeks only where the next read does not go on from the one before. A call that was interrupted is
/// made again.
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
impl<T: Read + Seek> Seekable<T> {
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
