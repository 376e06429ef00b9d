//! A file in storage that is written at any position, valid only when it is whole.

use super::{WriteAt, form, write_full};
use crate::error::ErrorKind;
use crate::io::WriteError;
use crate::io::write::PREFIX;
use crate::util::bytes::{copy, front};
use crate::values::native::{Native, parts};
use crate::write::cursor::{Cursor, Due};
use crate::write::plan::FilePlan;

/// Where the high half of the header's length begins. It is zero in every file.
const HIGH_HALF: usize = PREFIX / 2;

/// Records a file in storage that is written at any position: first the data, in pieces of any size, then the header, and last the
/// length of the header. Until then the first bytes are all `0xFF`, which is a file to no reader.
///
/// ```
/// use embedded_safetensors::{Dtype, View, write::{FileSpec, Recorder, TensorSpec}};
///
/// let tensors = [TensorSpec::new("gain", Dtype::F32, &[2]), TensorSpec::new("steps", Dtype::U8, &[3])];
/// let plan = FileSpec::new(&tensors).in_order()?;
/// let mut memory = vec![0; usize::try_from(plan.file_len())?]; // a `FlashFile`, a `Seekable`, a `std::fs::File`, …
/// let mut buffer = [0; 64];
/// let mut recorder = Recorder::begin(&mut memory[..], plan, &mut buffer)?;
/// recorder.write_values(&[0.5_f32, 0.25])?;
/// recorder.write_bytes(&[1, 2])?;
/// recorder.write_bytes(&[3])?;
/// recorder.finish()?;
/// assert_eq!(View::parse(&memory)?.tensor("steps")?.bytes(), [1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// **When the power goes**, or the recorder is dropped, there is no valid file, or, in the last moment of [`finish`](Self::finish), the
/// whole new one. This rests on the storage: that [`flush`](WriteAt::flush) does what it says, and that a write that is cut short
/// changes nothing but the bytes that it was to write. Where a unit has 4 bytes or fewer, as those of files have, it does not matter
/// what becomes of these. Where it has more, each byte of a unit must be as it was or as it should be; and if they are not
/// written from the front on, the data must not begin with a space, a tab or a line's end. When an erasure is cut short, what was in
/// the sector is undefined, as the traits of flash say; so it is the file before that must be kept elsewhere: record
/// into one of two partitions, in turn, and take the newer one that is whole. An example (`recorder.rs`) does that.
///
/// **After an error of the storage** what has been taken is counted: [`position`](Self::position) and [`due`](Self::due) say where to
/// go on. What failed is written again by the next call, and bytes may have been there already: files, cards and memory take
/// that. NOR flash does not take a unit twice, so begin anew. After a mistake of the caller nothing is written, and the next call can mend it.
///
/// *Memory*: 240 bytes, 168 where pointers have 32 bits, the storage and the buffer.
pub struct Recorder<'a, S> {
    storage: S,
    plan: FilePlan<'a>,
    cursor: Cursor<'a>,
    /// Whole units.
    buffer: &'a mut [u8],
    /// How many bytes at its front wait to be written: the last ones before [`Self::position`].
    filled: usize,
}

#[form]
impl<'a, S: WriteAt> Recorder<'a, S> {
    /// Makes room in the storage, where the old file is then no longer, nor a new one.
    ///
    /// The buffer has at least 8 bytes and one unit of the storage. It gathers what comes in smaller pieces; as large as a page or
    /// a sector it saves writes. What comes in pieces as large as the buffer goes straight from there to the storage.
    ///
    /// The storage is consumed; lend it as `&mut storage` to have it back when this fails.
    ///
    /// # Errors
    /// Before anything is lost: [`ErrorKind::BufferLength`]; [`ErrorKind::Unit`] where the data would begin inside of a unit
    /// ([`Placement::Start`](crate::write::Placement::Start) of the unit helps); [`ErrorKind::Capacity`] where the storage is known to be too small;
    /// [`ErrorKind::Longer`] and [`ErrorKind::Partition`] where it is not fit. Those of the storage: the call can be made
    /// again.
    pub async fn begin(
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
        Ok(Self { storage, plan, cursor: Cursor::new(&plan), buffer, filled: 0 })
    }

    /// The tensor whose bytes come next, one that has some; none when all are there.
    pub const fn due(&self) -> Option<Due<'a>> {
        self.cursor.due()
    }

    /// Which byte of the file comes next. Some of those before it may still be in the buffer.
    pub const fn position(&self) -> u64 {
        self.cursor.position()
    }

    /// Records the next bytes of the tensor that is due. Tensors without bytes are passed over.
    ///
    /// # Errors
    /// [`ErrorKind::TooManyBytes`] when they are more than it still takes, [`ErrorKind::NothingDue`] when all tensors are complete: then
    /// nothing is written. Those of the storage: then a part may be written.
    pub async fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        self.cursor.admit(bytes.len())?;
        self.write_admitted(bytes).await
    }

    /// Records the next elements of the tensor that is due, with the low byte first on every machine.
    ///
    /// # Errors
    /// [`ErrorKind::ValueType`] when it has others; otherwise as [`write_bytes`](Self::write_bytes).
    pub async fn write_values<T: Native>(&mut self, values: &[T]) -> Result<(), WriteError<S::Error>> {
        let mut parts = parts(values);
        self.cursor.admit_values(T::DTYPE, parts.len())?;
        loop {
            match parts.next() {
                [] => return Ok(()),
                part => self.write_admitted(part).await?,
            }
        }
    }

    /// Records one tensor, all of it: the one that is due. Tensors without bytes need not be written.
    ///
    /// # Errors
    /// [`ErrorKind::NotDue`] when it is another one's turn; [`ErrorKind::TensorLength`] when it has not so many bytes;
    /// [`ErrorKind::TooManyBytes`] when a part of it is written; [`ErrorKind::NothingDue`]; those of the storage.
    pub async fn write_tensor(&mut self, name: &str, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        self.cursor.admit_tensor(name, bytes.len())?;
        self.write_admitted(bytes).await
    }

    /// Writes what is left in the buffer, then the header, its length last, and gives the storage back, flushed. The last unit is filled with
    /// `0xFF` behind the file.
    ///
    /// # Errors
    /// [`ErrorKind::Incomplete`] when bytes are missing, with how many, and from which tensor on; then there is no file. Those of the
    /// storage: then there is no file, or it is whole.
    pub async fn finish(mut self) -> Result<S, WriteError<S::Error>> {
        self.cursor.finish()?;
        self.write_zeros().await?;
        let end = usize::try_from(up_to_unit(self.filled as u64, self.storage.unit())).unwrap_or(self.filled);
        if let Some(rest) = self.buffer.get_mut(self.filled..end) {
            rest.fill(0xFF);
        }
        let at = self.position().saturating_sub(self.filled as u64);
        write_full(&mut self.storage, at, self.buffer.get(..end).unwrap_or_default()).await?;
        self.write_header().await?;
        Ok(self.storage)
    }

    async fn write_admitted(&mut self, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        let mut left = bytes;
        while !left.is_empty() {
            self.write_zeros().await?;
            let len = self.write_some(left).await?;
            self.cursor.pass(len);
            left = left.get(len..).unwrap_or(&[]);
        }
        Ok(())
    }

    /// Those between tensors that are placed apart.
    async fn write_zeros(&mut self) -> Result<(), WriteError<S::Error>> {
        while let zeros @ 1.. = self.cursor.zeros() {
            let room = front(self.room().await?, zeros);
            room.fill(0);
            let len = room.len();
            self.filled += len;
            self.cursor.pass_zeros(len);
        }
        Ok(())
    }

    /// Takes into the buffer what it has room for; writes as many whole buffers as there are, where none is begun.
    async fn write_some(&mut self, bytes: &[u8]) -> Result<usize, WriteError<S::Error>> {
        let whole = bytes.len() - bytes.len().checked_rem(self.buffer.len()).unwrap_or(0);
        self.room().await?;
        if let (0, Some(straight @ [_, ..])) = (self.filled, bytes.get(..whole)) {
            write_full(&mut self.storage, self.cursor.position(), straight).await?;
            return Ok(whole);
        }
        let len = copy(self.room().await?, bytes);
        self.filled += len;
        Ok(len)
    }

    /// What is free of the buffer, which is written when it is full.
    async fn room(&mut self) -> Result<&mut [u8], WriteError<S::Error>> {
        if self.filled >= self.buffer.len() {
            let at = self.position().saturating_sub(self.filled as u64);
            write_full(&mut self.storage, at, self.buffer).await?;
            self.filled = 0;
        }
        Ok(self.buffer.get_mut(self.filled..).unwrap_or_default())
    }

    /// The header behind its first unit, then that unit. Of a length that is more than one unit the low half comes first: as long
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

impl<S> core::fmt::Debug for Recorder<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Recorder").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl<S> defmt::Format for Recorder<'_, S> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Recorder {{ cursor: {}, .. }}", self.cursor);
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
