//! A card with a file as the library sees one: bytes are copied, and calls may fail.

use embedded_safetensors::{ReadAt, io::FileLen};

/// Copies from the device's memory, and counts its reads.
pub struct Card {
    file: &'static [u8],
    /// The number of reads.
    pub calls: u32,
    /// The number of bytes read.
    pub bytes: u32,
}

/// The error of a broken card.
#[derive(Clone, Copy, Debug)]
pub struct Broken(pub u32);

impl Card {
    /// Creates a card with this file.
    pub fn new(file: &'static [u8]) -> Self {
        Self { file, calls: 0, bytes: 0 }
    }
}

impl ReadAt for Card {
    type Error = Broken;

    #[inline(never)] // like a driver: one copy of the code for all callers
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Broken> {
        // The count never overflows, but the compiler must not know this.
        self.calls = self.calls.checked_add(1).ok_or(Broken(self.calls))?;
        let len = self.file.read_at(offset, buffer).map_err(|_| Broken(0))?;
        self.bytes = self.bytes.wrapping_add(len as u32);
        Ok(len)
    }

    fn file_len(&mut self) -> Result<FileLen, Broken> {
        Ok(FileLen::Exactly(self.file.len() as u64))
    }
}
