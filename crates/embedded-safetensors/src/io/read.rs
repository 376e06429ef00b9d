//! Storage that is read at any position, and what can go wrong there.

use crate::error::Error;
use crate::util::bytes::copy;
use core::convert::Infallible;
use core::fmt;

/// Storage that can be read at any position: a file on a card, a flash chip, memory.
///
/// Slices, and behind features whatever is `embedded_io::{Read, Seek}`, NOR flash and `std::fs::File`
/// have it already. Implement it for storage of your own:
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
pub trait ReadAt {
    /// What can go wrong with the storage itself.
    type Error;

    /// Reads bytes from byte `offset` of the file on into the front of `buffer`, and says how many.
    ///
    /// It may read fewer than there is room for, but at least one; 0 only when `buffer` is empty or no
    /// byte of the file lies at `offset` or behind. It blocks until then. The rest of `buffer` may hold
    /// anything afterwards.
    ///
    /// # Errors
    /// Those of the storage. The same read may be tried again, and then behaves as if it had not been
    /// tried before.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error>;

    /// How long the file is, as far as the storage knows.
    ///
    /// # Errors
    /// Those of the storage.
    fn file_len(&mut self) -> Result<FileLen, Self::Error>;

    /// The whole file, where it lies in memory that can be read at any time, as a slice does; nothing otherwise. Values
    /// are then made straight from it, and where pointers have 64 bits headers are read where they lie. It has the bytes that [`read_at`](Self::read_at) gives.
    fn in_memory(&self) -> Option<&[u8]> {
        None
    }
}

/// How long a file is, as far as its storage knows.
///
/// *Memory*: 16 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FileLen {
    /// It has exactly so many bytes, and its tensors must end with it.
    Exactly(u64),
    /// It has no more than so many bytes, as in a partition: its tensors must end there or before.
    AtMost(u64),
    /// Nobody knows. A file that is too short shows when its end is read.
    Unknown,
}

impl FileLen {
    pub(crate) const fn exact(self) -> Option<u64> {
        match self {
            Self::Exactly(len) => Some(len),
            Self::AtMost(_) | Self::Unknown => None,
        }
    }
}

impl<S: ReadAt + ?Sized> ReadAt for &mut S {
    type Error = S::Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        (**self).read_at(offset, buffer)
    }

    fn file_len(&mut self) -> Result<FileLen, Self::Error> {
        (**self).file_len()
    }

    fn in_memory(&self) -> Option<&[u8]> {
        (**self).in_memory()
    }
}

/// A whole file in memory. Behind its end there is nothing, as in a file.
impl ReadAt for &[u8] {
    type Error = Infallible;

    #[inline]
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let present = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or(&[]);
        Ok(copy(buffer, present))
    }

    #[inline]
    fn file_len(&mut self) -> Result<FileLen, Infallible> {
        Ok(FileLen::Exactly(self.len() as u64))
    }

    fn in_memory(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// Why something could not be read: the file, the storage, or a file that ends too early.
///
/// *Memory*: 32 bytes and what `E` takes, `Copy` if `E` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError<E> {
    /// What the file, the memory or the request is at fault for: see [`ErrorKind::blame`](crate::ErrorKind::blame).
    Format(Error),
    /// The storage failed. The call that reported it can be made again.
    Source(E),
    /// The storage says that the file ends here, though its header was proven before, and the header or the
    /// tensors need more. (A file that ends while its header is proven is the file's fault, a
    /// [`Format`](Self::Format) error.)
    UnexpectedEof {
        /// The byte of the file that is not there.
        at: u64,
    },
}

/// How many bytes a read gave that was to give one at least and `room` at most, at byte `at` of the file.
/// Storage that claims to have given more has broken its word; the buffer is full all the same.
///
/// # Errors
/// [`ReadError::UnexpectedEof`] where it gave none; those of the storage.
pub(crate) fn arrived<E>(outcome: Result<usize, E>, at: u64, room: usize) -> Result<usize, ReadError<E>> {
    match outcome {
        Ok(0) => Err(ReadError::UnexpectedEof { at }),
        Ok(len) => Ok(len.min(room)),
        Err(error) => Err(ReadError::Source(error)),
    }
}

/// Fills the buffer from byte `offset` of the file on: in one read, where the storage gives all that it is
/// asked for.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`].
#[inline]
pub(crate) fn read_full<S: ReadAt>(
    source: &mut S,
    offset: u64,
    buffer: &mut [u8],
) -> Result<(), ReadError<S::Error>> {
    if buffer.is_empty() {
        return Ok(());
    }
    match source.read_at(offset, buffer) {
        Ok(len) if len >= buffer.len() => Ok(()),
        outcome => read_on(source, offset, buffer, outcome),
    }
}

/// Goes on where the first read gave less than it was asked for.
#[inline(never)] // what it needs does not wait beside every first read
fn read_on<S: ReadAt>(
    source: &mut S,
    mut offset: u64,
    mut buffer: &mut [u8],
    mut outcome: Result<usize, S::Error>,
) -> Result<(), ReadError<S::Error>> {
    loop {
        let len = arrived(outcome, offset, buffer.len())?;
        offset += len as u64;
        buffer = buffer.get_mut(len..).unwrap_or_default();
        if buffer.is_empty() {
            return Ok(());
        }
        outcome = source.read_at(offset, buffer);
    }
}

impl<E> From<Error> for ReadError<E> {
    fn from(error: Error) -> Self {
        Self::Format(error)
    }
}

sentences! {
    ReadError<E>:
    Self::Format(error) => "{}", error;
    Self::Source(error) => "the storage cannot be read: {}", error;
    Self::UnexpectedEof { at } => "the file ends at byte {}, before its end was due", at;
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for ReadError<E> {}
