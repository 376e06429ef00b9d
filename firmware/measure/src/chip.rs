//! A NOR flash chip.

use core::hint::black_box;
use embedded_storage::nor_flash::{self, NorFlash, NorFlashErrorKind, ReadNorFlash};

/// A flash chip that is read in words of 4 bytes.
pub struct Chip(pub &'static [u8]);

impl nor_flash::ErrorType for Chip {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Chip {
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

impl NorFlash for Chip {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        nor_flash::check_erase(self, from, to)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        nor_flash::check_write(self, offset, black_box(bytes).len())
    }
}
