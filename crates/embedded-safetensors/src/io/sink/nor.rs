//! Storage behind `embedded_storage::nor_flash::NorFlash`.

use super::WriteAt;
use crate::bytes::low_u32;
use crate::error::ErrorKind;
use crate::source::nor::{FlashError, FlashFile};
use crate::write::error::WriteError;
use embedded_storage::nor_flash::NorFlash;

/// What is erased at once.
const fn sector<F: NorFlash>() -> u32 {
    const {
        assert!(F::WRITE_SIZE.is_power_of_two(), "the flash is written in units that are no power of two");
        assert!(F::ERASE_SIZE > 0 && F::ERASE_SIZE % F::WRITE_SIZE == 0, "the flash erases parts of units");
        assert!(F::ERASE_SIZE as u64 <= u32::MAX as u64, "the flash erases too much at once");
        low_u32(F::ERASE_SIZE as u64)
    }
}

impl<F: NorFlash> FlashFile<F> {
    /// Where the last sector ends that lies in the partition as a whole.
    fn last_sector_end(&self) -> u32 {
        let end = self.partition_range().end;
        end - end % sector::<F>()
    }

    /// Where the last sector of a file ends, and how many bytes there are for files.
    fn sectors_end(&self, file_len: u64) -> Option<u32> {
        let len = u32::try_from(file_len).ok()?.checked_next_multiple_of(sector::<F>())?;
        let end = self.partition_range().start.checked_add(len)?;
        (end <= self.last_sector_end()).then_some(end)
    }

    fn erase(&mut self, from: u32, to: u32) -> Result<(), WriteError<FlashError<F::Error>>> {
        match from < to {
            true => self.flash().erase(from, to).map_err(|error| WriteError::Sink(FlashError(error))),
            false => Ok(()),
        }
    }
}

/// Sectors are erased when a recording begins: those that the file touches, the first one in a call of its own before all others.
/// Nothing outside the partition is; of one that ends inside a sector, that sector is not used. A partition must begin at
/// a sector ([`ErrorKind::Partition`]).
impl<F: NorFlash> WriteAt for FlashFile<F> {
    type Error = FlashError<F::Error>;

    fn unit(&self) -> usize {
        F::WRITE_SIZE
    }

    fn capacity(&mut self) -> Result<Option<u64>, Self::Error> {
        Ok(Some(self.last_sector_end().saturating_sub(self.partition_range().start).into()))
    }

    fn prepare(&mut self, _data_start: u64, file_len: u64) -> Result<(), WriteError<Self::Error>> {
        let (start, sector) = (self.partition_range().start, sector::<F>());
        if start % sector != 0 {
            return Err(ErrorKind::Partition { start, sector }.at(0).into());
        }
        let capacity = self.last_sector_end().saturating_sub(start).into();
        let Some(end) = self.sectors_end(file_len) else { return Err(WriteError::Full { at: capacity }) };
        let second = end.min(start.saturating_add(sector));
        self.erase(start, second)?;
        self.erase(second, end)?;
        self.replaced(file_len);
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<usize, Self::Error> {
        let (address, room) = self.place(offset, bytes.len());
        let bytes = bytes.get(..room).unwrap_or(bytes);
        if !bytes.is_empty() {
            self.flash().write(address, bytes).map_err(FlashError)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
