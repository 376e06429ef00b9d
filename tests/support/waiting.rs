//! Storage that is waited for, and the doors to it.

use embedded_io_async::{ErrorType, SeekFrom};
use embedded_safetensors::asynch::{self, Seekable};
use embedded_safetensors::{ReadAt, io::FileLen};

use crate::doors::Stream;
use crate::executor::wait;
use crate::mock::{Fault, Storage};

/// How often each call to a storage waits.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Before it has an effect.
    pub before: usize,
    /// After the bytes are read and the place is moved, before the caller gets to know.
    pub after: usize,
}

/// Makes whatever blocks wait instead.
#[derive(Debug)]
pub struct Waiting<T> {
    inner: T,
    waits: Waits,
}

impl<T> Waiting<T> {
    /// Each call waits so often.
    pub const fn new(inner: T, waits: Waits) -> Self {
        Self { inner, waits }
    }

    async fn call<O>(&mut self, call: impl FnOnce(&mut T) -> O) -> O {
        wait(self.waits.before).await;
        let outcome = call(&mut self.inner);
        wait(self.waits.after).await;
        outcome
    }
}

impl<S: ReadAt> asynch::ReadAt for Waiting<S> {
    type Error = S::Error;

    async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, S::Error> {
        self.call(|inner| inner.read_at(offset, buffer)).await
    }

    async fn file_len(&mut self) -> Result<FileLen, S::Error> {
        self.call(S::file_len).await
    }
}

impl<T: ErrorType> ErrorType for Waiting<T> {
    type Error = T::Error;
}

impl<T: embedded_io::Read> embedded_io_async::Read for Waiting<T> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, T::Error> {
        self.call(|inner| inner.read(buffer)).await
    }
}

impl<T: embedded_io::Seek> embedded_io_async::Seek for Waiting<T> {
    async fn seek(&mut self, to: SeekFrom) -> Result<u64, T::Error> {
        self.call(|inner| inner.seek(to)).await
    }
}

impl<T: embedded_io::Write> embedded_io_async::Write for Waiting<T> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, T::Error> {
        self.call(|inner| inner.write(bytes)).await
    }

    async fn flush(&mut self) -> Result<(), T::Error> {
        self.call(T::flush).await
    }
}

/// A kind of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The file in memory. It never waits, and can do nothing that is planned.
    Slice,
    /// A source that implements the core's own trait.
    Own,
    /// What can read and seek, behind [`Seekable`].
    Seekable,
}

/// A source of one of these kinds.
#[derive(Debug)]
pub enum Source<'s> {
    /// [`Door::Slice`].
    Slice(&'s [u8]),
    /// [`Door::Own`].
    Own(Waiting<&'s Storage<'s>>),
    /// [`Door::Seekable`].
    Seekable(Seekable<Waiting<Stream<'s>>>),
}

impl Door {
    /// A source that reads this storage.
    pub fn source<'s>(self, storage: &'s Storage<'s>, waits: Waits) -> Source<'s> {
        match self {
            Self::Slice => Source::Slice(storage.first_file()),
            Self::Own => Source::Own(Waiting::new(storage, waits)),
            Self::Seekable => Source::Seekable(Seekable::new(Waiting::new(Stream::new(storage), waits))),
        }
    }
}

impl asynch::ReadAt for Source<'_> {
    type Error = Fault;

    async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Fault> {
        match self {
            Self::Slice(source) => {
                asynch::ReadAt::read_at(source, offset, buffer).await.map_err(|never| match never {})
            }
            Self::Own(source) => source.read_at(offset, buffer).await,
            Self::Seekable(source) => source.read_at(offset, buffer).await,
        }
    }

    async fn file_len(&mut self) -> Result<FileLen, Fault> {
        match self {
            Self::Slice(source) => asynch::ReadAt::file_len(source).await.map_err(|never| match never {}),
            Self::Own(source) => source.file_len().await,
            Self::Seekable(source) => source.file_len().await,
        }
    }
}
