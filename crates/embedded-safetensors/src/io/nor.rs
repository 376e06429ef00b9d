//! Storage with `ReadNorFlash` and `NorFlash` of `embedded_storage`.

use super::nor_flash::{NorFlash, ReadNorFlash};
use super::{ReadAt, WriteAt, form};
use crate::error::ErrorKind;
use crate::io::nor_error::NorError;
use crate::io::{FileLen, WriteError};
use crate::util::bytes::{copy, low_u32, misaligned, move_within};
use core::ops::Range;

/// The largest read unit of any known flash.
const LARGEST_UNIT: usize = 64;

/// Memory for a few units, aligned for every driver.
#[repr(align(16))]
struct Unit([u8; LARGEST_UNIT]);

/// Returns where in the memory to read whole units: in place if they fit there and are aligned, otherwise at
/// the first aligned byte.
fn first_unit(memory: &[u8], in_place: Option<usize>, len: usize, unit: usize) -> usize {
    let units = in_place.and_then(|at| memory.get(at..)).unwrap_or_default();
    match in_place {
        Some(at) if units.len() >= len && misaligned(units, unit) == 0 => at,
        _ => misaligned(memory, unit),
    }
}

/// A file in NOR flash, or in a partition of one. If the flash is [`NorFlash`], a file can be recorded there.
///
/// Reads may begin and end anywhere. The units around the bytes are read together, if they fit into your
/// buffer or into 64 bytes on the stack. Otherwise, as many units as fit into your buffer are read first.
/// Values of a narrower dtype leave space in your buffer: then rows and slices take one read each.
///
/// The driver only gets memory that is aligned to its units, or to 16 bytes if they are larger. If your
/// buffer is not, bytes are read to its first aligned byte and then moved to their place, and are written 64
/// at a time, unless a unit is larger.
///
/// *Memory*: 24 bytes and that of `F`; during a read or a write 64 bytes of stack.
///
/// ```
/// use embedded_safetensors::io::{NorError, NorFile};
/// use embedded_safetensors::{Model, ReadError};
/// use embedded_storage::nor_flash::ReadNorFlash;
///
/// /// Opens the model in a partition of 1 MiB that begins at offset 0x10_0000 of the flash.
/// fn open<F: ReadNorFlash>(flash: F) -> Result<Model<NorFile<F>>, ReadError<NorError<F::Error>>> {
///     Model::open(NorFile::partition(flash, 0x10_0000..0x20_0000), &mut [0; 64])
/// }
/// ```
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NorFile<F> {
    flash: F,
    partition: Range<u32>,
    file_len: FileLen,
}

#[form]
impl<F: ReadNorFlash> NorFile<F> {
    /// Creates a file that begins at byte 0 of the flash.
    pub fn new(flash: F) -> Self {
        Self::partition(flash, 0..u32::MAX)
    }

    /// Creates a file that begins at the start of a partition, and ends in it. The range counts as the driver
    /// does, usually from the start of the flash. Bytes after the file are ignored. If only a part of the
    /// partition is in the flash, only that part can be read.
    pub fn partition(flash: F, partition: Range<u32>) -> Self {
        const {
            assert!(
                F::READ_SIZE > 0 && F::READ_SIZE <= LARGEST_UNIT,
                "READ_SIZE of the flash is not supported"
            );
        }
        // Only whole units can be read.
        let capacity = flash.capacity() - flash.capacity() % F::READ_SIZE;
        let end = u32::try_from(capacity).unwrap_or(u32::MAX).min(partition.end);
        let partition = partition.start.min(end)..end;
        let file_len = FileLen::AtMost((partition.end - partition.start).into());
        Self { flash, partition, file_len }
    }

    /// Sets the length of the file, if it is known. A file with bytes after its tensors is then rejected, as
    /// it is everywhere else, and so is one whose tensors end later. A length that exceeds the partition is
    /// only detected when the end of the file is read.
    ///
    /// Flash does not record which of its bytes were written. If a file was written in part but its header is
    /// complete, it also opens with its full length given here: the rest is read as the old contents. Giving
    /// the number of bytes that were actually written here detects this.
    #[must_use]
    pub fn with_file_len(self, len: u64) -> Self {
        Self { file_len: FileLen::Exactly(len), ..self }
    }

    /// Returns the flash.
    pub fn into_inner(self) -> F {
        self.flash
    }

    fn flash(&mut self) -> &mut F {
        &mut self.flash
    }

    fn partition_range(&self) -> Range<u32> {
        self.partition.clone()
    }

    /// Records that a file of this length has replaced the old contents.
    fn set_recorded_len(&mut self, file_len: u64) {
        if let FileLen::Exactly(len) = &mut self.file_len {
            *len = file_len;
        }
    }

    /// Returns the address of byte `offset` of the file, and how many of `len` bytes from there on are in the
    /// partition.
    fn address_of(&self, offset: u64, len: usize) -> (u32, usize) {
        let present = u64::from(self.partition.end - self.partition.start).saturating_sub(offset);
        let available = usize::try_from(present).unwrap_or(usize::MAX).min(len);
        // Bytes that are present are below the end of the partition.
        (self.partition.start.wrapping_add(u32::try_from(offset).unwrap_or(0)), available)
    }

    /// Reads at most [`LARGEST_UNIT`] bytes of whole units. Copies their bytes from `skip` on, and returns
    /// how many.
    async fn read_few(
        &mut self,
        address: u32,
        len: usize,
        skip: usize,
        part: &mut [u8],
    ) -> Result<usize, F::Error> {
        let mut units = Unit([0; LARGEST_UNIT]);
        let units = units.0.get_mut(..len).unwrap_or_default();
        self.flash.read(address, units).await?;
        Ok(copy(part, units.get(skip..).unwrap_or_default()))
    }
}

#[form]
impl<F: ReadNorFlash> ReadAt for NorFile<F> {
    type Error = NorError<F::Error>;

    fn read_at(
        &mut self,
        offset: u64,
        buffer: &mut [u8],
    ) -> impl Future<Output = Result<usize, Self::Error>> {
        let all = 0..buffer.len();
        self.read_within(offset, buffer, all)
    }

    async fn read_within(
        &mut self,
        offset: u64,
        memory: &mut [u8],
        part: Range<usize>,
    ) -> Result<usize, Self::Error> {
        let (address, wanted) = self.address_of(offset, part.len());
        if wanted == 0 {
            return Ok(0);
        }
        let skip = address % low_u32(F::READ_SIZE as u64);
        let (address, skip) = (address - skip, skip as usize);
        let whole = |len: usize| len - len % F::READ_SIZE;
        let needed = whole(skip + wanted + F::READ_SIZE - 1);
        let at = first_unit(memory, part.start.checked_sub(skip), needed, F::READ_SIZE);
        let len = needed.min(whole(memory.len().saturating_sub(at)));
        if len < needed && needed <= LARGEST_UNIT || len <= skip {
            let part = memory.get_mut(part).and_then(|part| part.get_mut(..wanted)).unwrap_or_default();
            let few = needed.min(whole(LARGEST_UNIT));
            return self.read_few(address, few, skip, part).await.map_err(NorError);
        }
        let units = memory.get_mut(at..).and_then(|from| from.get_mut(..len)).unwrap_or_default();
        self.flash.read(address, units).await.map_err(NorError)?;
        let count = wanted.min(len - skip);
        move_within(memory, at + skip, part.start, count);
        Ok(count)
    }

    async fn file_len(&mut self) -> Result<FileLen, Self::Error> {
        Ok(self.file_len)
    }
}

/// Returns the length of a sector, the unit of erasing.
const fn sector<F: NorFlash>() -> u32 {
    const {
        assert!(F::WRITE_SIZE.is_power_of_two(), "WRITE_SIZE of the flash is not a power of two");
        assert!(
            F::ERASE_SIZE > 0 && F::ERASE_SIZE % F::WRITE_SIZE == 0,
            "ERASE_SIZE of the flash is not a multiple of WRITE_SIZE"
        );
        assert!(F::ERASE_SIZE as u64 <= u32::MAX as u64, "ERASE_SIZE of the flash is too large");
        low_u32(F::ERASE_SIZE as u64)
    }
}

#[form]
impl<F: NorFlash> NorFile<F> {
    /// Returns the end of the last sector that is entirely in the partition.
    fn last_sector_end(&self) -> u32 {
        let end = self.partition_range().end;
        end - end % sector::<F>()
    }

    /// Returns the end of the last sector of a file, if it is in the partition.
    fn sectors_end(&self, file_len: u64) -> Option<u32> {
        let len = u32::try_from(file_len).ok()?.checked_next_multiple_of(sector::<F>())?;
        let end = self.partition_range().start.checked_add(len)?;
        (end <= self.last_sector_end()).then_some(end)
    }

    /// Writes the first bytes from memory that is aligned, and returns how many.
    #[inline(never)] // its memory is not reserved for other writes
    async fn write_aligned(&mut self, address: u32, bytes: &[u8]) -> Result<usize, F::Error> {
        let mut units = Unit([0; LARGEST_UNIT]);
        let count = copy(&mut units.0, bytes);
        self.flash().write(address, units.0.get(..count).unwrap_or_default()).await?;
        Ok(count)
    }

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), WriteError<NorError<F::Error>>> {
        match from < to {
            true => self.flash().erase(from, to).await.map_err(|error| WriteError::Sink(NorError(error))),
            false => Ok(()),
        }
    }
}

/// Sectors are erased when a recording begins: those that the file touches, the first one in a call of its
/// own before all others. Nothing outside the partition is erased. If the partition ends inside a sector,
/// that sector is not used. A partition must begin at a sector ([`ErrorKind::Partition`]).
#[form]
impl<F: NorFlash> WriteAt for NorFile<F> {
    type Error = NorError<F::Error>;

    fn unit(&self) -> usize {
        F::WRITE_SIZE
    }

    async fn capacity(&mut self) -> Result<Option<u64>, Self::Error> {
        Ok(Some(self.last_sector_end().saturating_sub(self.partition_range().start).into()))
    }

    async fn prepare(&mut self, _data_start: u64, file_len: u64) -> Result<(), WriteError<Self::Error>> {
        let (start, sector) = (self.partition_range().start, sector::<F>());
        if start % sector != 0 {
            return Err(ErrorKind::Partition { start, sector }.at(0).into());
        }
        let capacity = self.last_sector_end().saturating_sub(start).into();
        let Some(end) = self.sectors_end(file_len) else { return Err(WriteError::Full { at: capacity }) };
        let second = end.min(start.saturating_add(sector));
        self.erase(start, second).await?;
        self.erase(second, end).await?;
        self.set_recorded_len(file_len);
        Ok(())
    }

    async fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Self::Error> {
        let (address, available) = self.address_of(offset, bytes.len());
        let bytes = bytes.get(..available).unwrap_or(bytes);
        let outcome = match bytes {
            [] => Ok(0),
            // Larger units are the business of the driver.
            _ if F::WRITE_SIZE <= LARGEST_UNIT && misaligned(bytes, F::WRITE_SIZE) > 0 => {
                self.write_aligned(address, bytes).await
            }
            _ => self.flash().write(address, bytes).await.map(|()| bytes.len()),
        };
        outcome.map_err(NorError)
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
