//! Records a file in storage that can be written at any position. The file is valid only when it is complete.

use super::writer::{Sink, Writer, sealed::Sealed};
use super::{WriteAt, form, write_full};
use crate::error::ErrorKind;
use crate::io::WriteError;
use crate::io::write::PREFIX;
use crate::util::bytes::{copy, front, index_below};
use crate::write::plan::FilePlan;

/// The offset of the high half of the header's length, which is zero in every valid file.
const HIGH_HALF: usize = PREFIX / 2;

/// Records a file in storage that can be written at any position: the [`Sink`] of [`Writer::record`]. The
/// file is valid only when it is complete.
///
/// *Memory*: 120 bytes, 72 where pointers have 32 bits, the storage and the buffer.
pub struct Recording<'a, S> {
    out: Units<'a, S>,
    plan: FilePlan<'a>,
}

#[form]
impl<'a, S: WriteAt> Writer<'a, Recording<'a, S>> {
    /// Begins a recording. The data is written first, then the header, and last the length of the header.
    /// Until then the first bytes are all `0xFF`, which every reader rejects. Once this has returned, a file
    /// that was in the storage before is no longer valid either.
    ///
    /// The buffer has at least 8 bytes and at least one unit of the storage. It collects smaller pieces;
    /// larger ones are written to the storage directly. Writes end at multiples of the largest power of two
    /// that the buffer holds: with a buffer of one page of flash or one block of a card, each is written
    /// once, but for those where the header and the data begin.
    ///
    /// The storage is consumed; pass `&mut storage` to keep it when this fails.
    ///
    /// **After a power loss**, or when the writer is dropped, there is no valid file, or, at the very end of
    /// [`finish`](Self::finish), the complete new one. This requires of the storage:
    ///
    /// * [`prepare`](WriteAt::prepare) and [`flush`](WriteAt::flush) work as documented. No call can check
    ///   what `prepare` leaves in the storage.
    /// * An interrupted write changes only the bytes that it was writing. With units of at most 4 bytes, as
    ///   in files, those bytes may have any value. With larger units, each byte must have its old or its new
    ///   value.
    /// * With units of 8 bytes or more, the bytes of a unit are written in order, or the data does not begin
    ///   with a space, a tab or a line end. A length that is written in part is too large, and such data
    ///   could continue the header.
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
        storage: S,
        plan: FilePlan<'a>,
        buffer: &'a mut [u8],
    ) -> Result<Self, WriteError<S::Error>> {
        let (unit, data_start) = (storage.unit() as u64, plan.data_start());
        if data_start & unit.wrapping_sub(1) > 0 {
            return Err(ErrorKind::Unit { unit }.at(data_start).into());
        }
        let out = Units::begin(storage, data_start, plan.file_len(), buffer).await?;
        Ok(Self::begin(Recording { out, plan }, &plan))
    }
}

impl<S> Sealed for Recording<'_, S> {}

#[form]
impl<S: WriteAt> Sink for Recording<'_, S> {
    type Error = S::Error;
    type Inner = S;

    async fn take(&mut self, at: u64, bytes: &[u8]) -> Result<usize, WriteError<S::Error>> {
        self.out.take(at, bytes).await
    }

    /// Writes the rest of the data, then the header, its length last.
    async fn end(&mut self, file_len: u64) -> Result<(), WriteError<S::Error>> {
        self.out.end(file_len).await?;
        self.write_header().await
    }

    fn into_inner(self) -> S {
        self.out.storage
    }
}

#[form]
impl<S: WriteAt> Recording<'_, S> {
    /// Writes the header after its first unit, then that unit.
    #[inline(never)] // keeps the encoder off the callers' stack
    async fn write_header(&mut self) -> Result<(), WriteError<S::Error>> {
        let Self { out: Units { storage, buffer, .. }, plan } = self;
        let first = storage.unit().max(PREFIX);
        let mut encoder = plan.encoder();
        encoder.skip(first as u64);
        let mut at = first as u64;
        loop {
            let page = front(buffer, left_of_page(at, buffer.len()) as u64);
            let bytes @ [_, ..] = encoder.encode(page) else { break };
            write_full(storage, at, bytes).await?;
            at += bytes.len() as u64;
        }
        encoder = plan.encoder();
        let bytes = encoder.encode(front(buffer, first as u64));
        write_first(storage, bytes).await
    }
}

/// Bytes that are written to storage one after another, in whole units.
pub(crate) struct Units<'a, S> {
    pub(crate) storage: S,
    /// A page: a power of two, and whole units. Writes end at multiples of it, as flash and cards have pages.
    buffer: &'a mut [u8],
    /// The number of bytes at the front of the buffer that are not written yet. They are of one page.
    filled: usize,
}

#[form]
impl<'a, S: WriteAt> Units<'a, S> {
    /// Prepares the storage for a file of `file_len` bytes, of which those from `start` on are written
    /// first.
    ///
    /// # Errors
    /// Before anything is overwritten: [`ErrorKind::Unit`]; [`ErrorKind::BufferLength`];
    /// [`ErrorKind::Capacity`]; those of [`WriteAt::prepare`].
    pub(crate) async fn begin(
        mut storage: S,
        start: u64,
        file_len: u64,
        buffer: &'a mut [u8],
    ) -> Result<Self, WriteError<S::Error>> {
        let unit = storage.unit();
        if !unit.is_power_of_two() {
            return Err(ErrorKind::Unit { unit: unit as u64 }.at(start).into());
        }
        let (needed, capacity) = (unit.max(PREFIX) as u64, buffer.len() as u64);
        if capacity < needed {
            return Err(ErrorKind::BufferLength { needed, capacity }.at(0).into());
        }
        let buffer = front(buffer, 1 << (63 - capacity.leading_zeros()));
        let capacity = storage.capacity().await.map_err(WriteError::Sink)?.unwrap_or(u64::MAX);
        let needed = up_to_unit(file_len, unit);
        if needed > capacity {
            return Err(ErrorKind::Capacity { needed, capacity }.at(capacity).into());
        }
        storage.prepare(start, file_len).await?;
        Ok(Self { storage, buffer, filled: 0 })
    }

    /// Takes at least one byte from the front of `bytes`, which belong at byte `at` of the file. Copies the
    /// bytes of one page into the buffer. If the buffer is empty, writes bytes up to the end of a page
    /// directly.
    pub(crate) async fn take(&mut self, at: u64, bytes: &[u8]) -> Result<usize, WriteError<S::Error>> {
        let (page, left) = (self.buffer.len(), left_of_page(at, self.buffer.len()));
        if self.filled > 0 && left == page {
            let filled = self.buffer.get(..self.filled).unwrap_or_default();
            write_full(&mut self.storage, at.saturating_sub(self.filled as u64), filled).await?;
            self.filled = 0;
        }
        if self.filled == 0 && bytes.len() >= left {
            let whole = left + ((bytes.len() - left) & !(page - 1));
            write_full(&mut self.storage, at, bytes.get(..whole).unwrap_or_default()).await?;
            return Ok(whole);
        }
        let len = copy(self.buffer.get_mut(self.filled..self.filled + left).unwrap_or_default(), bytes);
        self.filled += len;
        Ok(len)
    }

    /// Writes the rest of the buffer. The last unit is filled with `0xFF` after the end of the file.
    pub(crate) async fn end(&mut self, file_len: u64) -> Result<(), WriteError<S::Error>> {
        let end = usize::try_from(up_to_unit(self.filled as u64, self.storage.unit())).unwrap_or(self.filled);
        if let Some(rest) = self.buffer.get_mut(self.filled..end) {
            rest.fill(0xFF);
        }
        let at = file_len.saturating_sub(self.filled as u64);
        write_full(&mut self.storage, at, self.buffer.get(..end).unwrap_or_default()).await
    }
}

/// Writes the first units of a file, which are its last bytes to be written. If the header's length takes
/// more than one unit, its low half is written first: as long as the high half is not zero, the header is too
/// long for any reader.
#[form]
pub(crate) async fn write_first<S: WriteAt>(
    storage: &mut S,
    bytes: &[u8],
) -> Result<(), WriteError<S::Error>> {
    let low = if storage.unit() <= HIGH_HALF { HIGH_HALF } else { 0 };
    let (low, last) = bytes.split_at_checked(low).unwrap_or((&[], bytes));
    write_full(storage, 0, low).await?;
    storage.flush().await.map_err(WriteError::Sink)?;
    write_full(storage, low.len() as u64, last).await?;
    storage.flush().await.map_err(WriteError::Sink)
}

impl<S> core::fmt::Debug for Recording<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Recording")
            .field("plan", &self.plan)
            .field("filled", &self.out.filled)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl<S> defmt::Format for Recording<'_, S> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Recording {{ plan: {}, filled: {=usize}, .. }}", self.plan, self.out.filled);
    }
}

/// Returns how many bytes there are from byte `at` of the file to the end of its page.
fn left_of_page(at: u64, page: usize) -> usize {
    page - index_below(at & (page as u64).wrapping_sub(1), page).unwrap_or(0)
}

/// Rounds a length up to a multiple of a power of two.
fn up_to_unit(len: u64, unit: usize) -> u64 {
    let below = (unit as u64).wrapping_sub(1);
    len.saturating_add(below) & !below
}
