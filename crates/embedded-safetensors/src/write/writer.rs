//! A file written tensor by tensor, whatever it is written to.

use super::form;
use crate::io::WriteError;
use crate::values::native::{Native, parts};
use crate::write::cursor::{Cursor, NextTensor, front_of_zeros};
use crate::write::plan::FilePlan;

/// Writes the data of a file tensor by tensor, in the order of the file and in pieces of any size.
///
/// | made by | what it writes to | the header | a file that was not finished |
/// |---|---|---|---|
/// | [`Writer::new`] | a sink that takes bytes from front to back: a wire, a new file on a card | at once | is shorter than its header says; every reader refuses it |
/// | [`Writer::record`] | storage that is written at any position ([`WriteAt`](crate::WriteAt)): a partition of flash, an old file, memory | last | is none: it begins with `0xFF` |
///
/// Whatever comes before [`finish`](Self::finish) is the same for both:
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
/// After an error of the sink, what it has taken is counted: [`position`](Self::position) and [`next_tensor`](Self::next_tensor) say where to go on. After a
/// mistake of the caller nothing is written, and the next call can mend it.
///
/// *Memory*: 120 bytes, 88 where pointers have 32 bits, and what it writes to.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Writer<'a, S> {
    sink: S,
    cursor: Cursor<'a>,
}

/// What a [`Writer`] writes to: [`Streaming`](super::Streaming) or [`Recording`](super::Recording). There are no others.
#[form]
#[allow(async_fn_in_trait)]
pub trait Sink: sealed::Sealed {
    /// What can go wrong with what is written to.
    type Error;
    /// What is written to.
    type Inner;

    /// Takes bytes from the front, one at least, which come at byte `at` of the file. Says how many.
    #[doc(hidden)]
    async fn take(&mut self, at: u64, bytes: &[u8]) -> Result<usize, WriteError<Self::Error>>;

    /// Ends the file, all of whose bytes it has taken.
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

    /// Returns the tensor whose bytes come next, one that has some; none when all are there.
    pub const fn next_tensor(&self) -> Option<NextTensor<'a>> {
        self.cursor.due()
    }

    /// Returns which byte of the file comes next. Some of those before it may still be in the buffer of a recording.
    pub const fn position(&self) -> u64 {
        self.cursor.position()
    }
}

#[form]
impl<S: Sink> Writer<'_, S> {
    /// Writes the next bytes of the tensor that is due. Tensors without bytes are passed over.
    ///
    /// # Errors
    /// [`TooManyBytes`](crate::ErrorKind::TooManyBytes) when they are more than it still takes, [`NothingDue`](crate::ErrorKind::NothingDue)
    /// when all tensors are complete: then nothing is written. Those of the sink: then a part may be written.
    ///
    /// # Cancel safety
    /// When the future is dropped, what the sink has taken until then is counted, as after an error of the sink. What it says of its own dropped
    /// futures holds for the bytes that it was about to take.
    pub async fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        self.cursor.admit(bytes.len())?;
        self.write_admitted(bytes).await
    }

    /// Writes the next elements of the tensor that is due, with the low byte first on every machine.
    ///
    /// # Errors
    /// [`ValueType`](crate::ErrorKind::ValueType) when it has others; otherwise as [`write_bytes`](Self::write_bytes).
    ///
    /// # Cancel safety
    /// As [`write_bytes`](Self::write_bytes), with which to go on: the sink may have taken a part of an element.
    pub async fn write<T: Native>(&mut self, values: &[T]) -> Result<(), WriteError<S::Error>> {
        let mut parts = parts(values);
        self.cursor.admit_values(T::DTYPE, parts.len())?;
        loop {
            match parts.next() {
                [] => return Ok(()),
                part => self.write_admitted(part).await?,
            }
        }
    }

    /// Writes one tensor, all of it: the one that is due. Tensors without bytes need not be written.
    ///
    /// # Errors
    /// [`NotDue`](crate::ErrorKind::NotDue) when it is another one's turn; [`TensorLength`](crate::ErrorKind::TensorLength) when it has not so many
    /// bytes; otherwise as [`write_bytes`](Self::write_bytes).
    ///
    /// # Cancel safety
    /// As [`write_bytes`](Self::write_bytes), with which to go on.
    pub async fn write_tensor(&mut self, name: &str, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        self.cursor.admit_tensor(name, bytes.len())?;
        self.write_admitted(bytes).await
    }

    /// Ends the file, and returns what it was written to, flushed. A recording is a file only then.
    ///
    /// # Errors
    /// [`Incomplete`](crate::ErrorKind::Incomplete) when bytes are missing, with how many, and from which tensor on; those of the sink: then a
    /// recording is whole, or no file. The writer is gone then: where bytes may be missing, ask [`next_tensor`](Self::next_tensor) before.
    ///
    /// # Cancel safety
    /// When the future is dropped, so is what is written to. It is as after an error.
    pub async fn finish(mut self) -> Result<S::Inner, WriteError<S::Error>> {
        self.cursor.finish()?;
        // Tensors without bytes may come after it.
        self.write_padding().await?;
        self.sink.end(self.cursor.position()).await?;
        Ok(self.sink.into_inner())
    }

    async fn write_admitted(&mut self, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        let mut left = bytes;
        while !left.is_empty() {
            self.write_padding().await?;
            let len = self.sink.take(self.cursor.position(), left).await?;
            self.cursor.pass(len);
            left = left.get(len..).unwrap_or(&[]);
        }
        Ok(())
    }

    /// Writes the padding that comes next, if some does.
    async fn write_padding(&mut self) -> Result<(), WriteError<S::Error>> {
        while self.cursor.zeros() > 0 {
            let zeros = front_of_zeros(self.cursor.zeros());
            let len = self.sink.take(self.cursor.position(), zeros).await?;
            self.cursor.pass_zeros(len);
        }
        Ok(())
    }
}
