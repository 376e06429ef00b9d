//! A file written once, from its first byte to its last, to what is waited for.

use crate::error::ErrorKind;
use crate::io::WriteError;
use crate::values::native::{Native, parts};
use crate::write::cursor::{Cursor, Due};
use crate::write::plan::FilePlan;
use crate::write::writer::{front_of_zeros, taken};
use embedded_io_async::{Error as _, ErrorKind as IoErrorKind, Write};

/// Writes a file in the order of its bytes: the header at once, then the data in pieces of any size. The asynchronous form of
/// [`Writer`](crate::write::Writer).
///
/// # Cancel safety
/// What a sink has taken in a call that was dropped nobody but the sink knows. Where its `write` takes nothing then, a dropped
/// future leaves the writer as after an error: [`position`](Self::position) and [`due`](Self::due) say where to go on. Otherwise the file
/// must be begun again.
///
/// *Memory*: 120 bytes, 88 where pointers have 32 bits, and the sink. Besides the sink's own, a future holds at most 200 bytes (120), one of
/// [`write_values`](Self::write_values) 280 (200). Those of [`begin`](Self::begin) and [`finish`](Self::finish) hold the sink too, and some
/// 660 (450) and 460 (320).
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Writer<'a, W> {
    sink: W,
    cursor: Cursor<'a>,
}

impl<'a, W: Write> Writer<'a, W> {
    /// Writes the header, through a window of any size: it is made there, and goes to the sink from there.
    ///
    /// The sink is consumed; lend it as `&mut sink` to have it back when this fails or is dropped.
    ///
    /// # Errors
    /// As [`Writer::begin`](crate::write::Writer::begin).
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
    /// As [`Writer::write_bytes`](crate::write::Writer::write_bytes).
    pub async fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), WriteError<W::Error>> {
        self.cursor.admit(bytes.len())?;
        self.write_admitted(bytes).await
    }

    /// Writes the next elements of the tensor that is due, with the low byte first on every machine.
    ///
    /// # Errors
    /// As [`Writer::write_values`](crate::write::Writer::write_values).
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
    /// As [`Writer::write_tensor`](crate::write::Writer::write_tensor).
    pub async fn write_tensor(&mut self, name: &str, bytes: &[u8]) -> Result<(), WriteError<W::Error>> {
        self.cursor.admit_tensor(name, bytes.len())?;
        self.write_admitted(bytes).await
    }

    /// Ends the file, and gives the sink back, flushed.
    ///
    /// # Errors
    /// As [`Writer::finish`](crate::write::Writer::finish).
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
async fn write_some<W: Write>(sink: &mut W, at: u64, bytes: &[u8]) -> Result<usize, WriteError<W::Error>> {
    loop {
        let outcome = sink.write(bytes).await;
        match &outcome {
            Err(error) if error.kind() == IoErrorKind::Interrupted => {}
            _ => return taken(outcome, at, bytes.len()),
        }
    }
}
