//! A card with a file on it, as the core sees one: bytes are copied out, calls may fail.

use embedded_safetensors::{ReadAt, io::FileLen};

/// Copies out of the machine's memory, and counts what it is asked.
pub struct Card {
    file: &'static [u8],
    /// How often it was read.
    pub calls: u32,
    /// How many bytes it gave.
    pub bytes: u32,
}

/// What a broken card says.
#[derive(Clone, Copy, Debug)]
pub struct Broken(pub u32);

impl Card {
    /// A card with this file and nothing else on it.
    pub fn new(file: &'static [u8]) -> Self {
        Self { file, calls: 0, bytes: 0 }
    }
}

impl ReadAt for Card {
    type Error = Broken;

    #[inline(never)] // as a driver, which no caller has in itself: the same code for all of them
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Broken> {
        // Nobody calls as often, but the compiler must not know.
        self.calls = self.calls.checked_add(1).ok_or(Broken(self.calls))?;
        let len = self.file.read_at(offset, buffer).map_err(|_| Broken(0))?;
        self.bytes = self.bytes.wrapping_add(len as u32);
        Ok(len)
    }

    fn file_len(&mut self) -> Result<FileLen, Broken> {
        Ok(FileLen::Exactly(self.file.len() as u64))
    }
}
