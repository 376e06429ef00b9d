//! Storage that is awaited, and the kinds of source over it.

use embedded_io_async::{ErrorType, SeekFrom};
use embedded_safetensors::asynch::{self, Seekable};
use embedded_safetensors::{ReadAt, WriteAt, WriteError, io::FileLen};
use embedded_storage::nor_flash::{self, NorFlash, ReadNorFlash};
use embedded_storage_async::nor_flash as waited;

use crate::executor::wait;
use crate::mock::{Fault, Storage};
use crate::sources::Stream;

/// How often each call to a storage waits.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Before it has an effect.
    pub before: usize,
    /// After the bytes are read and the position is moved, before the caller gets the result.
    pub after: usize,
}

/// Makes calls wait that would block.
#[derive(Debug)]
pub struct Waiting<T> {
    inner: T,
    waits: Waits,
}

impl<T> Waiting<T> {
    /// Makes each call wait this often.
    pub const fn new(inner: T, waits: Waits) -> Self {
        Self { inner, waits }
    }

    /// Returns the wrapped value.
    pub fn into_inner(self) -> T {
        self.inner
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

impl<S: WriteAt> asynch::WriteAt for Waiting<S> {
    type Error = S::Error;

    fn unit(&self) -> usize {
        self.inner.unit()
    }

    async fn capacity(&mut self) -> Result<Option<u64>, S::Error> {
        self.call(S::capacity).await
    }

    async fn prepare(&mut self, data_start: u64, file_len: u64) -> Result<(), WriteError<S::Error>> {
        self.call(|inner| inner.prepare(data_start, file_len)).await
    }

    async fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, S::Error> {
        self.call(|inner| inner.write_at(offset, bytes)).await
    }

    async fn flush(&mut self) -> Result<(), S::Error> {
        self.call(S::flush).await
    }
}

impl<F: nor_flash::ErrorType> waited::ErrorType for Waiting<F> {
    type Error = F::Error;
}

impl<F: ReadNorFlash> waited::ReadNorFlash for Waiting<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), F::Error> {
        self.call(|inner| inner.read(offset, bytes)).await
    }

    fn capacity(&self) -> usize {
        self.inner.capacity()
    }
}

impl<F: NorFlash> waited::NorFlash for Waiting<F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), F::Error> {
        self.call(|inner| inner.erase(from, to)).await
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), F::Error> {
        self.call(|inner| inner.write(offset, bytes)).await
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
pub enum SourceKind {
    /// A source that implements the core's own trait.
    Custom,
    /// A stream that can read and seek, in [`Seekable`].
    Seekable,
}

/// A source of one of these kinds.
#[derive(Debug)]
pub enum Source<'s> {
    /// [`SourceKind::Custom`].
    Custom(Waiting<&'s Storage<'s>>),
    /// [`SourceKind::Seekable`].
    Seekable(Seekable<Waiting<Stream<'s>>>),
}

impl SourceKind {
    /// Returns a source that reads this storage.
    pub fn source<'s>(self, storage: &'s Storage<'s>, waits: Waits) -> Source<'s> {
        match self {
            Self::Custom => Source::Custom(Waiting::new(storage, waits)),
            Self::Seekable => Source::Seekable(Seekable::new(Waiting::new(Stream::new(storage), waits))),
        }
    }
}

impl asynch::ReadAt for Source<'_> {
    type Error = Fault;

    async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Fault> {
        match self {
            Self::Custom(source) => source.read_at(offset, buffer).await,
            Self::Seekable(source) => source.read_at(offset, buffer).await,
        }
    }

    async fn file_len(&mut self) -> Result<FileLen, Fault> {
        match self {
            Self::Custom(source) => source.file_len().await,
            Self::Seekable(source) => source.file_len().await,
        }
    }
}
