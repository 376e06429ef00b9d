//! Storage that is read at any position, and waited for.

use crate::io::read::arrived;
use crate::io::{self, FileLen, ReadError};
use core::convert::Infallible;

/// Storage that can be read at any position, and that has to be waited for: the asynchronous form of
/// [`ReadAt`](crate::ReadAt).
///
/// Slices have it, and whatever is `embedded_io_async::{Read, Seek}` within [`Seekable`](super::Seekable).
/// Implement it for storage of your own.
///
/// # Cancel safety
/// The futures of both functions may be dropped before they are done. The storage must then behave as if the
/// call had not been made. `buffer` may hold anything.
// Bounds on the futures would shut out drivers that are not `Send`; whoever needs them knows the type of the
// storage, and with it whether its futures are.
#[allow(async_fn_in_trait)]
pub trait ReadAt {
    /// What can go wrong with the storage itself.
    type Error;

    /// Reads bytes from byte `offset` of the file on into the front of `buffer`, and says how many.
    ///
    /// It may read fewer than there is room for, but at least one; 0 only when `buffer` is empty or no
    /// byte of the file lies at `offset` or behind. It waits until then. The rest of `buffer` may hold
    /// anything afterwards.
    ///
    /// # Errors
    /// Those of the storage. The same read may be tried again, and then behaves as if it had not been
    /// tried before.
    async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error>;

    /// How long the file is, as far as the storage knows.
    ///
    /// # Errors
    /// Those of the storage.
    async fn file_len(&mut self) -> Result<FileLen, Self::Error>;
}

/// The futures are those of the storage itself, and no larger.
impl<S: ReadAt + ?Sized> ReadAt for &mut S {
    type Error = S::Error;

    fn read_at(
        &mut self,
        offset: u64,
        buffer: &mut [u8],
    ) -> impl Future<Output = Result<usize, Self::Error>> {
        (**self).read_at(offset, buffer)
    }

    fn file_len(&mut self) -> impl Future<Output = Result<FileLen, Self::Error>> {
        (**self).file_len()
    }
}

/// A whole file in memory. It is never waited for.
impl ReadAt for &[u8] {
    type Error = Infallible;

    async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        io::ReadAt::read_at(self, offset, buffer)
    }

    async fn file_len(&mut self) -> Result<FileLen, Infallible> {
        io::ReadAt::file_len(self)
    }
}

/// Fills the buffer from byte `at` of the file on.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`].
pub(crate) async fn read_full<S: ReadAt>(
    source: &mut S,
    mut at: u64,
    mut left: &mut [u8],
) -> Result<(), ReadError<S::Error>> {
    while !left.is_empty() {
        let len = arrived(source.read_at(at, left).await, at, left.len())?;
        at += len as u64;
        left = left.get_mut(len..).unwrap_or(&mut []);
    }
    Ok(())
}
