//! A file in storage that is written at any position, valid only when it is whole.

use super::writer::{Sink, Writer, sealed::Sealed};
use super::{WriteAt, form, write_full};
use crate::error::ErrorKind;
use crate::io::WriteError;
use crate::io::write::PREFIX;
use crate::util::bytes::{copy, front};
use crate::write::plan::FilePlan;

/// Where the high half of the header's length begins. It is zero in every file.
const HIGH_HALF: usize = PREFIX / 2;

/// Records a file in storage that is written at any position, valid only when it is whole: what [`Writer::record`] makes a [`Writer`] of.
///
/// *Memory*: 120 bytes, 72 where pointers have 32 bits, the storage and the buffer.
pub struct Recording<'a, S> {
    storage: S,
    plan: FilePlan<'a>,
    /// Whole units.
    buffer: &'a mut [u8],
    /// How many bytes at its front wait to be written: the last ones that were taken.
    filled: usize,
}

#[form]
impl<'a, S: WriteAt> Writer<'a, Recording<'a, S>> {
    /// Begins a recording: first the data are written, then the header, and last the length of the header. Until then the first
    /// bytes are all `0xFF`, which is a file to no reader. What was in the storage before is no file either once this has returned.
    ///
    /// ```
    /// use embedded_safetensors::{Dtype, View, write::{FileSpec, TensorSpec, Writer}};
    ///
    /// let tensors = [TensorSpec::new("gain", Dtype::F32, &[2]), TensorSpec::new("steps", Dtype::U8, &[3])];
    /// let plan = FileSpec::new(&tensors).plan()?;
    /// let mut memory = vec![0; usize::try_from(plan.file_len())?]; // a `NorFile`, a `Seekable`, a `std::fs::File`, …
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
    /// The buffer has at least 8 bytes and one unit of the storage. It gathers what comes in smaller pieces; as large as a page or
    /// a sector it saves writes. What comes in pieces as large as the buffer goes straight from there to the storage.
    ///
    /// The storage is consumed; lend it as `&mut storage` to have it back when this fails.
    ///
    /// **When the power goes**, or the writer is dropped, there is no valid file, or, in the last moment of [`finish`](Self::finish), the
    /// whole new one. This rests on the storage: that [`flush`](WriteAt::flush) does what it says, and that a write that is cut short
    /// changes nothing but the bytes that it was to write. Where a unit has 4 bytes or fewer, as those of files have, it does not matter
    /// what becomes of these. Where it has more, each byte of a unit must be as it was or as it should be; and if they are not
    /// written from the front on, the data must not begin with a space, a tab or a line's end. When an erasure is cut short, what was in
    /// the sector is undefined, as the traits of flash say; so it is the file before that must be kept elsewhere: record
    /// into one of two partitions, in turn, and take the newer one that is whole. An example (`recorder.rs`) does that.
    ///
    /// **After an error of the storage** what failed is written again by the next call, and bytes may have been there already: files, cards
    /// and memory take that. NOR flash does not take a unit twice, so begin anew.
    ///
    /// # Errors
    /// Before anything is lost: [`ErrorKind::BufferLength`]; [`ErrorKind::Unit`] where the data would begin inside of a unit
    /// ([`Placement::Start`](crate::write::Placement::Start) of the unit helps); [`ErrorKind::Capacity`] where the storage is known to be too small;
    /// [`ErrorKind::Longer`] and [`ErrorKind::Partition`] where it is not fit. Those of the storage: the call can be made
    /// again.
    ///
    /// # Cancel safety
    /// When the future is dropped, there is no valid file, or the old one. The call can be made again.
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

    /// Takes into the buffer what it has room for; writes as many whole buffers as there are, where none is begun.
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

    /// Writes what is left in the buffer, then the header, its length last. The last unit is filled with `0xFF` behind the file.
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
    /// Writes the header after its first unit, then that unit. Of a length that is more than one unit the low half comes first: as long
    /// as the high half is not all zero, whatever else is in it, the header is too long for any reader.
    #[inline(never)] // the encoder is on the stack only here
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

/// As much of the buffer as is whole units, if the file can be written in such units from it.
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

/// The next multiple of a power of two.
fn up_to_unit(len: u64, unit: usize) -> u64 {
    let below = (unit as u64).wrapping_sub(1);
    len.saturating_add(below) & !below
}
