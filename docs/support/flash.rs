//! A NOR flash chip in memory that can only be read in words.

use embedded_storage::nor_flash::{ErrorType, NorFlashErrorKind, ReadNorFlash, check_read};

/// Stands in for the driver that firmware gets from the crate of its chip.
pub struct Flash(Vec<u8>);

impl Flash {
    /// Creates a chip of 64 KiB with these bytes at this address. The rest is erased.
    pub fn with(bytes: &[u8], address: usize) -> Self {
        let mut memory = vec![0xFF; 1 << 16];
        memory[address..address + bytes.len()].copy_from_slice(bytes);
        Self(memory)
    }
}

impl ErrorType for Flash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        let start = offset as usize;
        bytes.copy_from_slice(&self.0[start..start + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }
}
