//! A NOR flash chip in memory, with words to write and sectors to erase. Its power and its reads can fail.

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};

/// Stands in for the driver that firmware gets from the crate of its chip.
pub struct Chip {
    memory: Vec<u8>,
    /// How many calls succeed before the power fails; `None` if it does not.
    calls_left: Option<u32>,
    /// How many reads succeed before a single one fails; `None` if none does.
    failing_read: Option<u32>,
}

impl Chip {
    /// Creates an erased chip of 64 KiB.
    pub fn new() -> Self {
        Self { memory: vec![0xFF; 1 << 16], calls_left: None, failing_read: None }
    }

    /// Makes the power fail after this many calls that change the chip.
    pub fn lose_power_after(&mut self, calls: u32) {
        self.calls_left = Some(calls);
    }

    /// Makes a single read fail, after this many others.
    pub fn fail_read(&mut self, after: u32) {
        self.failing_read = Some(after);
    }

    pub fn restart(&mut self) {
        (self.calls_left, self.failing_read) = (None, None);
    }

    fn use_power(&mut self) -> Result<(), NorFlashErrorKind> {
        match &mut self.calls_left {
            Some(0) => return Err(NorFlashErrorKind::Other),
            Some(calls) => *calls -= 1,
            None => {}
        }
        Ok(())
    }
}

impl ErrorType for Chip {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Chip {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        self.failing_read = match self.failing_read {
            Some(0) => {
                self.failing_read = None;
                return Err(NorFlashErrorKind::Other);
            }
            left => left.map(|left| left - 1),
        };
        let start = offset as usize;
        bytes.copy_from_slice(&self.memory[start..start + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.memory.len()
    }
}

impl NorFlash for Chip {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        self.use_power()?;
        self.memory[from as usize..to as usize].fill(0xFF);
        Ok(())
    }

    /// Only clears bits, as a real chip does.
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        self.use_power()?;
        let cells = &mut self.memory[offset as usize..];
        cells.iter_mut().zip(bytes).for_each(|(cell, byte)| *cell &= byte);
        Ok(())
    }
}
