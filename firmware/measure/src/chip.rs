//! A NOR flash chip.

use core::ops::Deref;
use embedded_storage::nor_flash::{self, NorFlash, NorFlashErrorKind, ReadNorFlash};

/// A flash chip that is read and written in words of 4 bytes.
pub struct Chip<B>(pub B);

impl<B> nor_flash::ErrorType for Chip<B> {
    type Error = NorFlashErrorKind;
}

impl<B: Deref<Target = [u8]>> ReadNorFlash for Chip<B> {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, buffer: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        nor_flash::check_read(self, offset, buffer.len())?;
        let bytes = self.0.get(offset as usize..).ok_or(NorFlashErrorKind::OutOfBounds)?;
        buffer.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }
}

impl NorFlash for Chip<&mut [u8]> {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        nor_flash::check_erase(self, from, to)?;
        self.0.get_mut(from as usize..to as usize).unwrap_or_default().fill(0xFF);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        nor_flash::check_write(self, offset, bytes.len())?;
        let memory = self.0.get_mut(offset as usize..).unwrap_or_default();
        memory.iter_mut().zip(bytes).for_each(|(to, from)| *to &= *from);
        Ok(())
    }
}
