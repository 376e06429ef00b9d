//! The flash on the chip, read through its memory mapping.

use embedded_storage::nor_flash::{ErrorType, NorFlashErrorKind, ReadNorFlash, check_read};

/// The bytes of a word; reads are of entire words.
const WORD: usize = 4;

/// Memory-mapped flash.
#[derive(Debug)]
pub struct Mapped {
    base: *const u32,
    len: u32,
}

impl Mapped {
    /// Creates memory-mapped flash with `len` bytes.
    ///
    /// # Safety
    /// There is flash at `base`, and `base` is word-aligned.
    pub const unsafe fn new(base: usize, len: u32) -> Self {
        Self { base: core::ptr::with_exposed_provenance(base), len }
    }

    fn word(&self, offset: u32) -> u32 {
        // SAFETY: the caller of `new` guarantees the flash; offsets are of words within it.
        unsafe { self.base.byte_add(offset as usize).read_volatile() }
    }
}

impl ErrorType for Mapped {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Mapped {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        for (at, word) in (offset..).step_by(WORD).zip(bytes.chunks_exact_mut(WORD)) {
            word.copy_from_slice(&self.word(at).to_le_bytes());
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.len as usize
    }
}
