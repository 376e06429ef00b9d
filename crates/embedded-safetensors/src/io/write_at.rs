//! Storage that is written at any position, for a file that is valid only when it is complete.

use super::form;
use crate::error::ErrorKind;
#[cfg(any(feature = "embedded-io", all(feature = "std", any(unix, windows))))]
use crate::io::write::PREFIX;
use crate::io::write::{ERASED, WriteError, reject_longer};
use crate::util::bytes::copy;
use core::convert::Infallible;

/// Storage that a file can be recorded in: a partition of flash, a file on a card, memory.
///
/// It exists already for mutable slices and, with features, for `embedded_io::{Write, Seek}`, NOR flash and
/// `std::fs::File`. Implement it for storage of your own:
///
/// ```
/// use embedded_safetensors::{WriteAt, WriteError};
///
/// struct Fram { /* … */ }
/// # struct Broken;
/// # impl Fram {
/// #     fn send(&mut self, _: u64, _: &[u8]) -> Result<(), Broken> { Ok(()) }
/// # }
///
/// impl WriteAt for Fram {
///     type Error = Broken;
///
///     fn capacity(&mut self) -> Result<Option<u64>, Broken> {
///         Ok(Some(1 << 15))
///     }
///
///     fn prepare(&mut self, _data_start: u64, _file_len: u64) -> Result<(), WriteError<Broken>> {
///         // The high half first: however little of it is written, no header is as long. A larger unit than
///         // 8 bytes would have to be `0xFF` as a whole.
///         self.send(4, &[0xFF; 4]).and_then(|()| self.send(0, &[0xFF; 4])).map_err(WriteError::Sink)
///     }
///
///     fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Broken> {
///         self.send(offset, bytes).map(|()| bytes.len())
///     }
///
///     fn flush(&mut self) -> Result<(), Broken> {
///         Ok(()) // nothing is buffered
///     }
/// }
/// ```
///
/// # Cancel safety
/// The futures may be dropped before they complete. Any of the bytes may be written then, or none.
#[form]
#[allow(async_fn_in_trait)]
pub trait WriteAt {
    /// An error of the storage itself.
    type Error;

    /// Returns the unit of writing, a power of two. Offsets and lengths of writes are multiples of it.
    fn unit(&self) -> usize {
        1
    }

    /// Returns how many bytes a file may have; `None` if that is not known. Storage that is too small is then
    /// detected when it is full.
    ///
    /// # Errors
    /// Those of the storage.
    async fn capacity(&mut self) -> Result<Option<u64>, Self::Error>;

    /// Prepares the storage for a file of `file_len` bytes whose data begins at byte `data_start`.
    ///
    /// When it returns, the first 8 bytes are all `0xFF`, with which no file begins, and no file reappears
    /// after a power failure. If a unit is larger, all of the first unit is `0xFF`: it is written last, and
    /// old bytes in it could complete a header that was written in part.
    ///
    /// The old contents are lost, but none of them before they stop being a valid file. Where a unit that
    /// holds the header's length is overwritten, not erased, an interruption can leave a larger length:
    /// overwrite the start of the header's text first, or the data of the old file must not begin with a
    /// space, a tab or a line end.
    ///
    /// Each byte up to `file_len`, rounded up to a unit, can then be written once. They are written in this
    /// order: the data from `data_start` to the end, then the header from its front, except for its first
    /// bytes, which come last.
    ///
    /// # Errors
    /// Those of the storage; [`WriteError::Format`] if the storage is not suitable for this file, and then
    /// nothing is lost.
    async fn prepare(&mut self, data_start: u64, file_len: u64) -> Result<(), WriteError<Self::Error>>;

    /// Writes bytes from the front of `bytes` at byte `offset` of the file, and returns how many.
    ///
    /// It may write fewer, but at least one unit; 0 only when `bytes` is empty or there is no space at
    /// `offset`. It waits until one of these is the case. Another count is
    /// [`ErrorKind::Count`](crate::ErrorKind::Count).
    ///
    /// # Errors
    /// Those of the storage. Any of the bytes may have been written then, or none.
    async fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Self::Error>;

    /// Waits until all bytes written are in the storage itself, where they survive a power failure.
    ///
    /// # Errors
    /// Those of the storage.
    async fn flush(&mut self) -> Result<(), Self::Error>;
}

#[form]
impl<S: WriteAt + ?Sized> WriteAt for &mut S {
    type Error = S::Error;

    fn unit(&self) -> usize {
        (**self).unit()
    }

    async fn capacity(&mut self) -> Result<Option<u64>, Self::Error> {
        (**self).capacity().await
    }

    async fn prepare(&mut self, data_start: u64, file_len: u64) -> Result<(), WriteError<Self::Error>> {
        (**self).prepare(data_start, file_len).await
    }

    async fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Self::Error> {
        (**self).write_at(offset, bytes).await
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        (**self).flush().await
    }
}

/// Memory as long as the file.
#[form]
impl WriteAt for [u8] {
    type Error = Infallible;

    async fn capacity(&mut self) -> Result<Option<u64>, Infallible> {
        Ok(Some(self.len() as u64))
    }

    async fn prepare(&mut self, _data_start: u64, file_len: u64) -> Result<(), WriteError<Infallible>> {
        reject_longer(self.len() as u64, file_len)?;
        copy(self, &ERASED);
        Ok(())
    }

    async fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Infallible> {
        let space =
            usize::try_from(offset).ok().and_then(|offset| self.get_mut(offset..)).unwrap_or_default();
        Ok(copy(space, bytes))
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Writes all of the bytes.
///
/// # Errors
/// Those of the storage; [`WriteError::Full`]; [`ErrorKind::Count`].
#[form]
pub(crate) async fn write_full<S: WriteAt + ?Sized>(
    sink: &mut S,
    offset: u64,
    bytes: &[u8],
) -> Result<(), WriteError<S::Error>> {
    let (mut at, mut left) = (offset, bytes);
    while !left.is_empty() {
        let len = sink.write_at(at, left).await.map_err(WriteError::Sink)?;
        if len == 0 {
            return Err(WriteError::Full { at });
        }
        if len > left.len() || len < left.len() && len & sink.unit().wrapping_sub(1) > 0 {
            let (claimed, asked) = (len as u64, left.len() as u64);
            return Err(ErrorKind::Count { claimed, asked }.at(at).into());
        }
        left = left.get(len..).unwrap_or(&[]);
        at = at.wrapping_add(len as u64);
    }
    Ok(())
}

/// Invalidates a file that has `len` bytes, in storage whose bytes can be written again. The high half of the
/// header's length is written first, and flushed: however little of it is written, the header is too long for
/// any reader, or the file is still the old one.
///
/// # Errors
/// Those of the storage; [`WriteError::Full`].
#[cfg(any(feature = "embedded-io", all(feature = "std", any(unix, windows))))]
#[form]
pub(super) async fn invalidate<S: WriteAt + ?Sized>(
    sink: &mut S,
    len: u64,
) -> Result<(), WriteError<S::Error>> {
    let (low, high) = ERASED.split_at(PREFIX / 2);
    // Beyond the old end, bytes that are not written are zero, which a high half must not be.
    let (first, rest) = if len < PREFIX as u64 { (&ERASED[..], &[][..]) } else { (high, low) };
    write_full(sink, (PREFIX - first.len()) as u64, first).await?;
    sink.flush().await.map_err(WriteError::Sink)?;
    write_full(sink, 0, rest).await
}
