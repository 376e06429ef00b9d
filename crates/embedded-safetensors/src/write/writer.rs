//! A file written once, from its first byte to its last.

use super::eio::{Error as _, ErrorKind as IoErrorKind, Write};
use super::form;
use crate::error::ErrorKind;
use crate::io::WriteError;
use crate::io::write::taken;
use crate::values::native::{Native, parts};
use crate::write::cursor::{Cursor, Due, front_of_zeros};
use crate::write::plan::FilePlan;

/// Writes a file in the order of its bytes: the header at once, then the data in pieces of any size.
///
/// ```
/// use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec, Writer}};
///
/// let tensors = [TensorSpec::new("gain", Dtype::F32, &[2]), TensorSpec::new("steps", Dtype::U8, &[3])];
/// let plan = FileSpec::new(&tensors).with_metadata(&[("device", "unit-7")]).in_order()?;
/// let mut file = Vec::new(); // whatever is `embedded_io::Write`
/// let mut writer = Writer::begin(&mut file, plan, &mut [0; 64])?;
/// writer.write_values(&[0.5_f32])?;
/// writer.write_values(&[0.25_f32])?;
/// writer.write_tensor("steps", &[1, 2, 3])?;
/// writer.finish()?;
/// assert_eq!(file.len() as u64, plan.file_len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A file that was not finished has fewer bytes than its header says, and every reader refuses it. Where the old file must be
/// kept until the new one is there, do not write over it.
///
/// After an error of what is written to, what it has taken is counted: [`position`](Self::position) and [`due`](Self::due) say where
/// to go on. After a mistake of the caller nothing is written, and the next call can mend it.
///
/// *Memory*: 120 bytes, 88 where pointers have 32 bits, and the sink.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Writer<'a, W> {
    sink: W,
    cursor: Cursor<'a>,
}

#[form]
impl<'a, W: Write> Writer<'a, W> {
    /// Writes the header, through a window of any size: it is made there, and goes to the sink from there.
    ///
    /// The sink is consumed; lend it as `&mut sink` to have it back when this fails.
    ///
    /// # Errors
    /// [`ErrorKind::NoWindow`] when the window is empty; those of the sink.
    pub async fn begin(
        mut sink: W,
        plan: FilePlan<'a>,
        window: &mut [u8],
    ) -> Result<Self, WriteError<W::Error>> {
        if window.is_empty() {
            return Err(ErrorKind::NoWindow.at(0).into());
        }
        let mut encoder = plan.encoder();
        let mut at = 0;
        while let mut left @ [_, ..] = encoder.encode(window) {
            while !left.is_empty() {
                let len = write_some(&mut sink, at, left).await?;
                left = left.get(len..).unwrap_or(&[]);
                at += len as u64;
            }
        }
        Ok(Self { sink, cursor: Cursor::new(&plan) })
    }

    /// The tensor whose bytes come next, one that has some; none when all are there.
    pub const fn due(&self) -> Option<Due<'a>> {
        self.cursor.due()
    }

    /// Which byte of the file comes next.
    pub const fn position(&self) -> u64 {
        self.cursor.position()
    }

    /// Writes the next bytes of the tensor that is due. Tensors without bytes are passed over.
    ///
    /// # Errors
    /// [`ErrorKind::TooManyBytes`] when they are more than it still takes, [`ErrorKind::NothingDue`] when all tensors are complete: then
    /// nothing is written. Those of the sink: then a part may be written.
    pub async fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), WriteError<W::Error>> {
        self.cursor.admit(bytes.len())?;
        self.write_admitted(bytes).await
    }

    /// Writes the next elements of the tensor that is due, with the low byte first on every machine.
    ///
    /// # Errors
    /// [`ErrorKind::ValueType`] when it has others; otherwise as [`write_bytes`](Self::write_bytes).
    pub async fn write_values<T: Native>(&mut self, values: &[T]) -> Result<(), WriteError<W::Error>> {
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
    /// [`ErrorKind::NotDue`] when it is another one's turn; [`ErrorKind::TensorLength`] when it has not so many bytes;
    /// [`ErrorKind::TooManyBytes`] when a part of it is written; [`ErrorKind::NothingDue`]; those of the sink.
    pub async fn write_tensor(&mut self, name: &str, bytes: &[u8]) -> Result<(), WriteError<W::Error>> {
        self.cursor.admit_tensor(name, bytes.len())?;
        self.write_admitted(bytes).await
    }

    /// Ends the file, and gives the sink back, flushed.
    ///
    /// # Errors
    /// [`ErrorKind::Incomplete`] when bytes are missing, with how many, and from which tensor on; those of the sink. The writer is gone
    /// then: where bytes may be missing, ask [`due`](Self::due) before.
    pub async fn finish(mut self) -> Result<W, WriteError<W::Error>> {
        self.cursor.finish()?;
        // Tensors without bytes may be behind them.
        self.write_zeros().await?;
        loop {
            match self.sink.flush().await {
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) => return Err(WriteError::Sink(error)),
                Ok(()) => return Ok(self.sink),
            }
        }
    }

    async fn write_admitted(&mut self, bytes: &[u8]) -> Result<(), WriteError<W::Error>> {
        let mut left = bytes;
        while !left.is_empty() {
            self.write_zeros().await?;
            let at = self.position();
            let len = write_some(&mut self.sink, at, left).await?;
            self.cursor.pass(len);
            left = left.get(len..).unwrap_or(&[]);
        }
        Ok(())
    }

    /// Writes the padding that comes next, if some does.
    async fn write_zeros(&mut self) -> Result<(), WriteError<W::Error>> {
        while self.cursor.zeros() > 0 {
            let (at, zeros) = (self.position(), front_of_zeros(self.cursor.zeros()));
            let len = write_some(&mut self.sink, at, zeros).await?;
            self.cursor.pass_zeros(len);
        }
        Ok(())
    }
}

/// How many bytes one call of the sink took, which was to take one at least, at byte `at` of the file.
#[form]
async fn write_some<W: Write>(sink: &mut W, at: u64, bytes: &[u8]) -> Result<usize, WriteError<W::Error>> {
    loop {
        let outcome = sink.write(bytes).await;
        match &outcome {
            Err(error) if error.kind() == IoErrorKind::Interrupted => {}
            _ => return taken(outcome, at, bytes.len()),
        }
    }
}
