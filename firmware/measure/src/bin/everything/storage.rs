//! Storage behind the traits of other crates, with every possible error.

use crate::Job;
use core::hint::black_box;
use embedded_io::{ErrorKind, ErrorType, Read, Seek, SeekFrom, Write};
use embedded_safetensors::io::NorFile;
use embedded_storage::nor_flash::{self, NorFlash, NorFlashErrorKind, ReadNorFlash};

/// A file with a position, as in file systems. Its first byte selects an error.
pub struct File {
    bytes: &'static [u8],
    position: u64,
}

impl File {
    pub fn new(bytes: &'static [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    fn fault(&self) -> Result<(), ErrorKind> {
        match self.bytes.first() {
            Some(1) => Err(ErrorKind::Interrupted),
            Some(2) => Err(ErrorKind::Other),
            _ => Ok(()),
        }
    }
}

impl ErrorType for File {
    type Error = ErrorKind;
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        self.fault()?;
        let left = usize::try_from(self.position).ok().and_then(|from| self.bytes.get(from..)).unwrap_or(&[]);
        buffer.iter_mut().zip(left).for_each(|(to, from)| *to = *from);
        let len = left.len().min(buffer.len());
        self.position = self.position.wrapping_add(len as u64);
        Ok(len)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.fault()?;
        let len = black_box(bytes).len().min(self.bytes.len());
        self.position = self.position.wrapping_add(len as u64);
        Ok(len)
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        self.fault()
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> Result<u64, ErrorKind> {
        self.fault()?;
        self.position = match to {
            SeekFrom::Start(offset) => offset,
            SeekFrom::End(offset) => (self.bytes.len() as u64).wrapping_add_signed(offset),
            SeekFrom::Current(offset) => self.position.wrapping_add_signed(offset),
        };
        Ok(self.position)
    }
}

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

/// Returns a part of the chip whose range is unknown to the compiler.
pub fn partition(chip: Chip, job: &Job) -> NorFile<Chip> {
    NorFile::partition(chip, job.mode..job.slots as u32)
}
