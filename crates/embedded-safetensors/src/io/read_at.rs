//! Storage that is read at any position.

use super::form;
use crate::io::FileLen;
use crate::util::bytes::copy;
use core::convert::Infallible;
use core::ops::Range;

/// Storage that can be read at any position: a file on a card, a flash chip, memory.
///
/// It exists already for slices and, with features, for `embedded_io::{Read, Seek}`, NOR flash and
/// `std::fs::File`. Implement it for storage of your own:
///
/// ```
/// use embedded_safetensors::{ReadAt, io::FileLen};
///
/// struct Card { /* … */ }
/// # struct Broken;
/// # impl Card {
/// #     fn read_block(&mut self, _: u64, _: &mut [u8]) -> Result<usize, Broken> { Ok(0) }
/// # }
///
/// impl ReadAt for Card {
///     type Error = Broken;
///
///     fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Broken> {
///         self.read_block(offset, buffer)
///     }
///
///     fn file_len(&mut self) -> Result<FileLen, Broken> {
///         Ok(FileLen::AtMost(1 << 20)) // the size of a partition, say
///     }
/// }
/// ```
///
/// # Cancel safety
/// The futures may be dropped before they complete. The storage must then behave as if the call had not been
/// made. `buffer` and `memory` may hold anything.
// Bounds on the futures would exclude drivers that are not `Send`. A caller that needs them knows the type of
// the storage, and so whether its futures are `Send`.
#[form]
#[allow(async_fn_in_trait)]
pub trait ReadAt {
    /// An error of the storage itself.
    type Error;

    /// Reads bytes from byte `offset` of the file on into the front of `buffer`, and returns how many.
    ///
    /// It may read fewer than fit, but at least one; 0 only when `buffer` is empty or the file has no byte at
    /// `offset` or after it. It waits until one of these is the case. The rest of `buffer` may hold anything
    /// afterwards.
    ///
    /// A count larger than `buffer` is [`ErrorKind::Count`](crate::ErrorKind::Count).
    ///
    /// # Errors
    /// Those of the storage. The same read may be repeated, and then behaves as if it had not been tried
    /// before.
    async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error>;

    /// Reads as [`read_at`](Self::read_at) does, into `memory[part]`. The rest of `memory` may hold anything
    /// afterwards: storage that is read in units can read the units around the bytes there, in one read, and
    /// move the bytes.
    ///
    /// Values, slices and quantised rows are read with this call. Unless you implement it, it calls
    /// [`read_at`](Self::read_at). Pass it on if you wrap other storage. `part` is always inside `memory`.
    ///
    /// # Errors
    /// As [`read_at`](Self::read_at).
    fn read_within(
        &mut self,
        offset: u64,
        memory: &mut [u8],
        part: Range<usize>,
    ) -> impl Future<Output = Result<usize, Self::Error>> {
        self.read_at(offset, memory.get_mut(part).unwrap_or_default())
    }

    /// Returns the length of the file, as far as the storage knows.
    ///
    /// # Errors
    /// Those of the storage.
    async fn file_len(&mut self) -> Result<FileLen, Self::Error>;

    /// Returns the entire file if it is in memory that can be read at any time, as a slice is; otherwise
    /// `None`. Values are then made straight from it, and where pointers have 64 bits headers are read in
    /// place. It has the bytes that [`read_at`](Self::read_at) returns.
    fn in_memory(&self) -> Option<&[u8]> {
        None
    }
}

/// # Cancel safety
/// The futures are those of the storage itself, and no larger.
#[form]
impl<S: ReadAt + ?Sized> ReadAt for &mut S {
    type Error = S::Error;

    fn read_at(
        &mut self,
        offset: u64,
        buffer: &mut [u8],
    ) -> impl Future<Output = Result<usize, Self::Error>> {
        (**self).read_at(offset, buffer)
    }

    fn read_within(
        &mut self,
        offset: u64,
        memory: &mut [u8],
        part: Range<usize>,
    ) -> impl Future<Output = Result<usize, Self::Error>> {
        (**self).read_within(offset, memory, part)
    }

    fn file_len(&mut self) -> impl Future<Output = Result<FileLen, Self::Error>> {
        (**self).file_len()
    }

    fn in_memory(&self) -> Option<&[u8]> {
        (**self).in_memory()
    }
}

/// A complete file in memory. There are no bytes after its end, as in a file.
#[form]
impl ReadAt for &[u8] {
    type Error = Infallible;

    #[inline]
    async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let present = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or(&[]);
        Ok(copy(buffer, present))
    }

    #[inline]
    async fn file_len(&mut self) -> Result<FileLen, Infallible> {
        Ok(FileLen::Exactly(self.len() as u64))
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self)
    }
}
