//! Storage behind the traits of other crates, with every possible error.

use crate::Job;
use core::hint::black_box;
use embedded_io::{ErrorKind, ErrorType, Read, Seek, SeekFrom, Write};
use embedded_safetensors::io::NorFile;
use measure::Chip;

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

/// Returns a chip whose length is unknown to the compiler.
pub fn chip() -> Chip<&'static mut [u8]> {
    Chip(black_box(&mut []))
}

/// Returns a part of a chip whose range is unknown to the compiler.
pub fn partition(job: &Job) -> NorFile<Chip<&'static mut [u8]>> {
    NorFile::partition(chip(), job.mode..job.slots as u32)
}
