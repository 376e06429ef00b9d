//! Records a file in storage that can be written at any position. The file is valid only when it is complete.

use super::writer::{Sink, Writer, sealed::Sealed};
use super::{WriteAt, form, write_full};
use crate::error::ErrorKind;
use crate::io::WriteError;
use crate::io::write::PREFIX;
use crate::util::bytes::{copy, front};
use crate::write::plan::FilePlan;

/// The offset of the high half of the header's length, which is zero in every valid file.
const HIGH_HALF: usize = PREFIX / 2;

/// Records a file in storage that can be written at any position: the [`Sink`] of [`Writer::record`]. The
/// file is valid only when it is complete.
///
/// *Memory*: 120 bytes, 72 where pointers have 32 bits, the storage and the buffer.
pub struct Recording<'a, S> {
    storage: S,
    plan: FilePlan<'a>,
    /// Whole units.
    buffer: &'a mut [u8],
    /// The number of bytes at the front of the buffer that are not written yet.
    filled: usize,
}

#[form]
impl<'a, S: WriteAt> Writer<'a, Recording<'a, S>> {
    /// Begins a recording. The data is written first, then the header, and last the length of the header.
    /// Until then the first bytes are all `0xFF`, which every reader rejects. Once this has returned, a file
    /// that was in the storage before is no longer valid either.
    ///
    /// ```
    /// use embedded_safetensors::{Dtype, View, write::{FileSpec, TensorSpec, Writer}};
    ///
    /// let tensors = [TensorSpec::new("gain", Dtype::F32, &[2]), TensorSpec::new("steps", Dtype::U8, &[3])];
    /// let plan = FileSpec::new(&tensors).plan()?;
    /// let mut memory = vec![0; usize::try_from(plan.file_len())?]; // a `NorFile`, `Seekable`, `File`, …
    /// let mut buffer = [0; 64];
    /// let mut writer = Writer::record(&mut memory[..], plan, &mut buffer)?;
    /// writer.write(&[0.5_f32, 0.25])?;
    /// writer.write_bytes(&[1, 2])?;
    /// writer.write_bytes(&[3])?;
    /// writer.finish()?;
    /// assert_eq!(View::parse(&memory)?.tensor("steps")?.bytes(), [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The buffer has at least 8 bytes and at least one unit of the storage. It collects smaller pieces; a
    /// buffer of a page or a sector saves writes. Pieces at least as large as the buffer are written to the
    /// storage directly.
    ///
    /// The storage is consumed; pass `&mut storage` to keep it when this fails.
    ///
    /// **After a power loss**, or when the writer is dropped, there is no valid file, or, at the very end of
    /// [`finish`](Self::finish), the complete new one. This requires two things of the storage:
    /// [`flush`](WriteAt::flush) works as documented, and an interrupted write changes only the bytes that it
    /// was writing. With units of at most 4 bytes, as in files, those bytes may have any value. With larger
    /// units, each byte of a unit must have its old or its new value. If the bytes of a unit are not written
    /// in order, the data must not begin with a space, a tab or a line end.
    ///
    /// An interrupted erase leaves the sector undefined, as the flash traits say, so an old file that is
    /// still needed must be elsewhere. Record to two partitions in turn, and use the newer one that is valid,
    /// as the example `recorder.rs` does.
    ///
    /// **After an error of the storage** the next call repeats the failed write, and some of the bytes may
    /// already be written. Files, cards and memory allow that. NOR flash does not allow a second write to a
    /// unit, so begin a new recording.
    ///
    /// # Errors
    /// Before anything is overwritten: [`ErrorKind::BufferLength`]; [`ErrorKind::Unit`] when the data would
    /// begin inside a unit (use [`Placement::Start`](crate::write::Placement::Start) with the unit);
    /// [`ErrorKind::Capacity`] when the storage is known to be too small; [`ErrorKind::Longer`] and
    /// [`ErrorKind::Partition`] when it is unsuitable. Those of the storage: the call can be repeated.
    ///
    /// # Cancel safety
    /// When the future is dropped, there is no valid file, or the old one. The call can be repeated.
    pub async fn record(
        mut storage: S,
        plan: FilePlan<'a>,
        buffer: &'a mut [u8],
    ) -> Result<Self, WriteError<S::Error>> {
        let buffer = whole_units(buffer, storage.unit(), &plan)?;
        let capacity = storage.capacity().await.map_err(WriteError::Sink)?.unwrap_or(u64::MAX);
        let needed = up_to_unit(plan.file_len(), storage.unit());
        if needed > capacity {
            return Err(ErrorKind::Capacity { needed, capacity }.at(capacity).into());
        }
        storage.prepare(plan.data_start(), plan.file_len()).await?;
        Ok(Self::begin(Recording { storage, plan, buffer, filled: 0 }, &plan))
    }
}

impl<S> Sealed for Recording<'_, S> {}

#[form]
impl<S: WriteAt> Sink for Recording<'_, S> {
    type Error = S::Error;
    type Inner = S;

    /// Copies the bytes that fit into the buffer. If the buffer is empty, writes whole multiples of its
    /// length directly.
    async fn take(&mut self, at: u64, bytes: &[u8]) -> Result<usize, WriteError<S::Error>> {
        if self.filled >= self.buffer.len() {
            write_full(&mut self.storage, at.saturating_sub(self.filled as u64), self.buffer).await?;
            self.filled = 0;
        }
        if self.filled == 0 && bytes.len() >= self.buffer.len() {
            let whole = bytes.len() - bytes.len().checked_rem(self.buffer.len()).unwrap_or(0);
            write_full(&mut self.storage, at, bytes.get(..whole).unwrap_or_default()).await?;
            return Ok(whole);
        }
        let len = copy(self.buffer.get_mut(self.filled..).unwrap_or_default(), bytes);
        self.filled += len;
        Ok(len)
    }

    /// Writes the rest of the buffer, then the header, its length last. The last unit is filled with `0xFF`
    /// after the end of the file.
    async fn end(&mut self, file_len: u64) -> Result<(), WriteError<S::Error>> {
        let end = usize::try_from(up_to_unit(self.filled as u64, self.storage.unit())).unwrap_or(self.filled);
        if let Some(rest) = self.buffer.get_mut(self.filled..end) {
            rest.fill(0xFF);
        }
        let at = file_len.saturating_sub(self.filled as u64);
        write_full(&mut self.storage, at, self.buffer.get(..end).unwrap_or_default()).await?;
        self.write_header().await
    }

    fn into_inner(self) -> S {
        self.storage
    }
}

#[form]
impl<S: WriteAt> Recording<'_, S> {
    /// Writes the header after its first unit, then that unit. If the length takes more than one unit, its
    /// low half is written first: as long as the high half is not zero, the header is too long for any
    /// reader.
    #[inline(never)] // keeps the encoder off the callers' stack
    async fn write_header(&mut self) -> Result<(), WriteError<S::Error>> {
        let unit = self.storage.unit();
        let first = unit.max(PREFIX);
        let mut encoder = self.plan.encoder();
        encoder.skip(first as u64);
        let mut at = first as u64;
        while let bytes @ [_, ..] = encoder.encode(self.buffer) {
            write_full(&mut self.storage, at, bytes).await?;
            at = encoder.position();
        }
        let low = if unit <= HIGH_HALF { HIGH_HALF } else { 0 };
        encoder = self.plan.encoder();
        let bytes = encoder.encode(front(self.buffer, first as u64));
        let (low, last) = bytes.split_at_checked(low).unwrap_or((&[], bytes));
        write_full(&mut self.storage, 0, low).await?;
        self.storage.flush().await.map_err(WriteError::Sink)?;
        write_full(&mut self.storage, low.len() as u64, last).await?;
        self.storage.flush().await.map_err(WriteError::Sink)
    }
}

impl<S> core::fmt::Debug for Recording<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Recording")
            .field("plan", &self.plan)
            .field("filled", &self.filled)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl<S> defmt::Format for Recording<'_, S> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Recording {{ plan: {}, filled: {=usize}, .. }}", self.plan, self.filled);
    }
}

/// Returns the part of the buffer that is whole units, after checking that the file can be written in such
/// units.
fn whole_units<'b, E>(
    buffer: &'b mut [u8],
    unit: usize,
    plan: &FilePlan<'_>,
) -> Result<&'b mut [u8], WriteError<E>> {
    let data_start = plan.data_start();
    if !unit.is_power_of_two() || data_start & (unit as u64 - 1) > 0 {
        return Err(ErrorKind::Unit { unit: unit as u64 }.at(data_start).into());
    }
    let (needed, capacity) = (unit.max(PREFIX) as u64, buffer.len() as u64);
    if capacity < needed {
        return Err(ErrorKind::BufferLength { needed, capacity }.at(0).into());
    }
    Ok(front(buffer, capacity & !(unit as u64 - 1)))
}

/// Rounds a length up to a multiple of a power of two.
fn up_to_unit(len: u64, unit: usize) -> u64 {
    let below = (unit as u64).wrapping_sub(1);
    len.saturating_add(below) & !below
}
