//! Writes a file tensor by tensor to any sink.

use super::form;
use crate::io::WriteError;
use crate::values::native::{Native, parts};
use crate::write::cursor::{Cursor, NextTensor, front_of_zeros};
use crate::write::plan::FilePlan;

/// Writes the data of a file tensor by tensor, in the order of the file and in pieces of any size.
///
/// | created by | writes to | header is written | unfinished file |
/// |---|---|---|---|
/// | [`Writer::new`] | a sink, from front to back | first | shorter than its header says |
/// | [`Writer::record`] | storage, at any position | last | begins with `0xFF` |
///
/// A sink is a wire or a new file on a card. Storage ([`WriteAt`](crate::WriteAt)) is a flash partition, an
/// existing file or memory. Every reader rejects an unfinished file.
///
/// All methods up to [`finish`](Self::finish) are the same for both:
///
/// ```
/// use embedded_safetensors::WriteError;
/// use embedded_safetensors::write::{Sink, Writer};
///
/// /// Writes what a sensor measures, one value at a time.
/// fn write_samples<S: Sink>(
///     file: &mut Writer<'_, S>,
///     mut sample: impl FnMut() -> f32,
/// ) -> Result<(), WriteError<S::Error>> {
///     while file.next_tensor().is_some() {
///         file.write(&[sample()])?;
///     }
///     Ok(())
/// }
/// # use embedded_safetensors::{Dtype, View, write::{FileSpec, TensorSpec}};
/// # let tensors = [TensorSpec::new("gain", Dtype::F32, &[2])];
/// # let plan = FileSpec::new(&tensors).plan()?;
/// # let (mut memory, mut buffer) = (vec![0; usize::try_from(plan.file_len())?], [0; 64]);
/// # let mut writer = Writer::record(&mut memory[..], plan, &mut buffer)?;
/// # write_samples(&mut writer, || 0.5)?;
/// # writer.finish()?;
/// # assert_eq!(View::parse(&memory)?.tensor("gain")?.as_f32()?, [0.5, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// After an error of the sink, the bytes that it has taken are counted: [`position`](Self::position) and
/// [`next_tensor`](Self::next_tensor) return where to continue. After an error of the caller nothing is
/// written, and the next call can correct it.
///
/// *Memory*: 120 bytes, 88 where pointers have 32 bits, and the sink.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Writer<'a, S> {
    sink: S,
    cursor: Cursor<'a>,
}

/// The sink of a [`Writer`]: [`Streaming`](super::Streaming) or [`Recording`](super::Recording). There are no
/// others.
#[form]
#[allow(async_fn_in_trait)]
pub trait Sink: sealed::Sealed {
    /// The error of the underlying sink or storage.
    type Error;
    /// The underlying sink or storage.
    type Inner;

    /// Takes at least one byte from the front of `bytes`, which belong at byte `at` of the file. Returns the
    /// number taken.
    #[doc(hidden)]
    async fn take(&mut self, at: u64, bytes: &[u8]) -> Result<usize, WriteError<Self::Error>>;

    /// Ends the file after all of its bytes have been taken.
    #[doc(hidden)]
    async fn end(&mut self, file_len: u64) -> Result<(), WriteError<Self::Error>>;

    #[doc(hidden)]
    fn into_inner(self) -> Self::Inner;
}

pub mod sealed {
    pub trait Sealed {}
}

impl<'a, S> Writer<'a, S> {
    pub(super) fn begin(sink: S, plan: &FilePlan<'a>) -> Self {
        Self { sink, cursor: Cursor::new(plan) }
    }

    /// Returns the tensor whose bytes are expected next, skipping empty tensors, or `None` when all are
    /// written.
    pub const fn next_tensor(&self) -> Option<NextTensor<'a>> {
        self.cursor.next_tensor()
    }

    /// Returns the offset in the file of the next byte. Some bytes before it may still be in the buffer of a
    /// recording.
    pub const fn position(&self) -> u64 {
        self.cursor.position()
    }
}

#[form]
impl<S: Sink> Writer<'_, S> {
    /// Writes the next bytes of the expected tensor. Tensors without bytes are skipped.
    ///
    /// # Errors
    /// [`TooManyBytes`](crate::ErrorKind::TooManyBytes) when there are more bytes than the tensor has left,
    /// [`AllWritten`](crate::ErrorKind::AllWritten) when all tensors are complete: then nothing is written.
    /// Those of the sink: then a part may be written.
    ///
    /// # Cancel safety
    /// When the future is dropped, the bytes that the sink has taken until then are counted, as after an
    /// error of the sink. For the bytes that it was about to take, the sink's own cancel safety applies.
    pub async fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        self.cursor.check_bytes(bytes.len())?;
        self.write_checked(bytes).await
    }

    /// Writes the next elements of the expected tensor, in little-endian order on every target.
    ///
    /// # Errors
    /// [`ValueType`](crate::ErrorKind::ValueType) when the tensor has elements of another type; otherwise as
    /// [`write_bytes`](Self::write_bytes).
    ///
    /// # Cancel safety
    /// As [`write_bytes`](Self::write_bytes), which is also the way to continue: the sink may have taken a
    /// part of an element.
    pub async fn write<T: Native>(&mut self, values: &[T]) -> Result<(), WriteError<S::Error>> {
        let mut parts = parts(values);
        self.cursor.check_values(T::DTYPE, parts.len())?;
        loop {
            match parts.next() {
                [] => return Ok(()),
                part => self.write_checked(part).await?,
            }
        }
    }

    /// Writes one complete tensor, which must be the expected one. Tensors without bytes need not be written.
    ///
    /// # Errors
    /// [`WrongTensor`](crate::ErrorKind::WrongTensor) when another tensor is expected;
    /// [`TensorLength`](crate::ErrorKind::TensorLength) when it has another length; otherwise as
    /// [`write_bytes`](Self::write_bytes).
    ///
    /// # Cancel safety
    /// As [`write_bytes`](Self::write_bytes), which is also the way to continue.
    pub async fn write_tensor(&mut self, name: &str, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        self.cursor.check_tensor(name, bytes.len())?;
        self.write_checked(bytes).await
    }

    /// Ends the file, flushes the underlying sink or storage, and returns it. A recording becomes a valid
    /// file only here.
    ///
    /// # Errors
    /// [`Incomplete`](crate::ErrorKind::Incomplete) when bytes are missing, with their number and the first
    /// incomplete tensor; those of the sink: then a recording is complete or not a valid file. The writer is
    /// consumed by an error: if bytes may be missing, call [`next_tensor`](Self::next_tensor) first.
    ///
    /// # Cancel safety
    /// When the future is dropped, the sink or storage is dropped with it. The file is as after an error.
    pub async fn finish(mut self) -> Result<S::Inner, WriteError<S::Error>> {
        self.cursor.finish()?;
        // Only tensors without bytes can follow the padding.
        self.write_padding().await?;
        self.sink.end(self.cursor.position()).await?;
        Ok(self.sink.into_inner())
    }

    async fn write_checked(&mut self, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        let mut left = bytes;
        while !left.is_empty() {
            self.write_padding().await?;
            let len = self.sink.take(self.cursor.position(), left).await?;
            self.cursor.count_bytes(len);
            left = left.get(len..).unwrap_or(&[]);
        }
        Ok(())
    }

    /// Writes the padding before the next tensor, if any.
    async fn write_padding(&mut self) -> Result<(), WriteError<S::Error>> {
        while self.cursor.zeros() > 0 {
            let zeros = front_of_zeros(self.cursor.zeros());
            let len = self.sink.take(self.cursor.position(), zeros).await?;
            self.cursor.count_zeros(len);
        }
        Ok(())
    }
}
