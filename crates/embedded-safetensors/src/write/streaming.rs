//! Writes a file from its first byte to its last.

use super::eio::Write;
use super::form;
use super::writer::{Sink, Writer, sealed::Sealed};
use crate::error::ErrorKind;
use crate::io::WriteError;
use crate::io::kinds::uninterrupted;
use crate::io::write::taken;
use crate::write::plan::FilePlan;

/// Writes a file from front to back to an `embedded_io` sink: the [`Sink`] of [`Writer::new`].
///
/// *Memory*: that of the sink.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Streaming<W> {
    sink: W,
}

#[form]
impl<'a, W: Write> Writer<'a, Streaming<W>> {
    /// Begins a file that is written from front to back. The header is written first, through a window of any
    /// size.
    ///
    /// ```
    /// use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec, Writer}};
    ///
    /// let tensors = [TensorSpec::new("gain", Dtype::F32, &[2]), TensorSpec::new("steps", Dtype::U8, &[3])];
    /// let plan = FileSpec::new(&tensors).with_metadata(&[("device", "unit-7")]).plan()?;
    /// let mut file = Vec::new(); // any `embedded_io::Write`
    /// let mut writer = Writer::new(&mut file, plan, &mut [0; 64])?;
    /// writer.write(&[0.5_f32])?;
    /// writer.write(&[0.25_f32])?;
    /// writer.write_tensor("steps", &[1, 2, 3])?;
    /// writer.finish()?;
    /// assert_eq!(file.len() as u64, plan.file_len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// An unfinished file has fewer bytes than its header says, and every reader rejects it. If the old file
    /// must be kept until the new one is complete, do not overwrite it.
    ///
    /// The sink is consumed; pass `&mut sink` to keep it when this fails.
    ///
    /// # Errors
    /// [`ErrorKind::NoWindow`] when the window is empty; those of the sink.
    ///
    /// # Cancel safety
    /// When the future is dropped, the sink has a part of the header, which is not a valid file.
    pub async fn new(sink: W, plan: FilePlan<'a>, window: &mut [u8]) -> Result<Self, WriteError<W::Error>> {
        if window.is_empty() {
            return Err(ErrorKind::NoWindow.at(0).into());
        }
        let mut stream = Streaming { sink };
        let (mut encoder, mut at) = (plan.encoder(), 0);
        while let mut left @ [_, ..] = encoder.encode(window) {
            while !left.is_empty() {
                let len = stream.take(at, left).await?;
                left = left.get(len..).unwrap_or(&[]);
                at += len as u64;
            }
        }
        Ok(Self::begin(stream, &plan))
    }
}

impl<W> Sealed for Streaming<W> {}

#[form]
impl<W: Write> Sink for Streaming<W> {
    type Error = W::Error;
    type Inner = W;

    async fn take(&mut self, at: u64, bytes: &[u8]) -> Result<usize, WriteError<W::Error>> {
        taken(uninterrupted!(self.sink.write(bytes).await), at, bytes.len())
    }

    async fn end(&mut self, _: u64) -> Result<(), WriteError<W::Error>> {
        uninterrupted!(self.sink.flush().await).map_err(WriteError::Sink)
    }

    fn into_inner(self) -> W {
        self.sink
    }
}
