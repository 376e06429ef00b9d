//! The flash on the chip, read where it is mapped into memory.

use embedded_storage::nor_flash::{ErrorType, NorFlashErrorKind, ReadNorFlash, check_read};

/// The bytes of a word, which is read as a whole.
const WORD: usize = 4;

/// Flash that is mapped into memory.
#[derive(Debug)]
pub struct Mapped {
    base: *const u32,
    len: u32,
}

impl Mapped {
    /// So many bytes from an address on.
    ///
    /// # Safety
    /// There is flash, and the address is that of a word.
    pub const unsafe fn new(base: usize, len: u32) -> Self {
        Self { base: core::ptr::with_exposed_provenance(base), len }
    }

    fn word(&self, offset: u32) -> u32 {
        // SAFETY: the caller of `new` vouches for the flash; offsets are those of words within it.
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
        for (at, place) in (offset..).step_by(WORD).zip(bytes.chunks_exact_mut(WORD)) {
            place.copy_from_slice(&self.word(at).to_le_bytes());
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.len as usize
    }
}
