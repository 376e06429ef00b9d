//! A driver of NOR flash with the Intel command set, as described by its tables (Common Flash Interface,
//! JEDEC JESD68.01).
//!
//! Two chips of 16 bits are connected side by side: each has one half of every word of 32 bits, and all
//! commands and answers are doubled. A written word is a command or, after some commands, their argument.
//! What a read returns depends on the last command: the contents (*array*), the tables, or the status. The
//! driver leaves the bank in array mode, in which the bank is plain memory.
//!
//! No code may run from the bank during a write. Chips whose blocks are locked at power-on must be unlocked
//! first, which this driver does not do.

use core::fmt;
use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};

/// The bytes of a word; each chip has two of them.
const WORD: usize = 4;

/// The number of status reads until a chip counts as dead. This assumes a time per read, because there is
/// no clock: with reads of 100 ns it is more than six seconds. A chip whose tables (words 0x21 and 0x25)
/// allow more time for a block needs more.
const MOST_READS: u32 = 1 << 26;

/// A bank of two chips.
#[derive(Debug)]
pub struct Cfi {
    base: *mut u32,
    capacity: u32,
}

impl Cfi {
    /// Detects the bank.
    ///
    /// # Safety
    /// Only a flash bank is at `base`, with as many bytes as its tables state, and nothing else uses it.
    ///
    /// # Errors
    /// [`CfiError::Unknown`] if the answer is not that of two supported chips.
    pub unsafe fn probe(base: usize) -> Result<Self, CfiError> {
        let mut bank = Self { base: core::ptr::with_exposed_provenance_mut(base), capacity: 0 };
        // Enters array mode; if a reset came between a command and its argument, this is an argument that
        // changes nothing.
        bank.write_word(0, u32::MAX);
        bank.command(Table::ENTRY, Command::Query);
        let table = Table::read(&bank);
        // Errors from before a reset of only the processor must not be reported for the first change.
        bank.command(0, Command::ClearStatus);
        bank.command(0, Command::ReadArray);
        bank.capacity = table.capacity().ok_or(CfiError::Unknown)?;
        Ok(bank)
    }

    fn read_word(&self, offset: u32) -> u32 {
        // SAFETY: the caller of `probe` guarantees the bank; offsets are of words within it.
        unsafe { self.base.byte_add(offset as usize).read_volatile() }
    }

    fn write_word(&mut self, offset: u32, word: u32) {
        // SAFETY: as above.
        unsafe { self.base.byte_add(offset as usize).write_volatile(word) }
    }

    fn command(&mut self, offset: u32, command: Command) {
        self.write_word(offset, u32::from(command as u16) * EACH);
    }

    fn erase_block(&mut self, offset: u32) -> Result<(), CfiError> {
        self.command(offset, Command::Erase);
        self.command(offset, Command::Confirm);
        self.wait(offset)
    }

    fn program(&mut self, offset: u32, word: u32) -> Result<(), CfiError> {
        self.command(offset, Command::Program);
        self.write_word(offset, word);
        self.wait(offset)
    }

    /// Waits until both chips are ready.
    fn wait(&self, offset: u32) -> Result<(), CfiError> {
        let mut answers = (0..MOST_READS).map(|_| Status(self.read_word(offset)));
        answers.find(|status| status.is_ready()).ok_or(CfiError::Dead)?.verdict(offset)
    }

    /// Returns to array mode after any outcome.
    fn end<T>(&mut self, outcome: Result<T, CfiError>) -> Result<T, CfiError> {
        self.command(0, Command::ClearStatus);
        self.command(0, Command::ReadArray);
        outcome
    }
}

/// The factor that repeats 16 bits for each chip.
const EACH: u32 = 0x0001_0001;

#[derive(Clone, Copy)]
enum Command {
    Erase = 0x20,
    Program = 0x40,
    ClearStatus = 0x50,
    Query = 0x98,
    Confirm = 0xd0,
    ReadArray = 0xff,
}

/// The status of both chips.
struct Status(u32);

impl Status {
    const READY: u32 = 0x80 * EACH;
    const ERASING: u32 = 0x20 * EACH;
    const PROGRAMMING: u32 = 0x10 * EACH;
    const VOLTAGE: u32 = 0x08 * EACH;
    const LOCKED: u32 = 0x02 * EACH;

    fn is_ready(&self) -> bool {
        self.0 & Self::READY == Self::READY
    }

    fn has(&self, bits: u32) -> bool {
        self.0 & bits != 0
    }

    fn verdict(&self, at: u32) -> Result<(), CfiError> {
        match () {
            () if self.has(Self::LOCKED) => Err(CfiError::Locked { at }),
            () if self.has(Self::VOLTAGE) => Err(CfiError::Voltage),
            () if self.has(Self::ERASING) => Err(CfiError::Erase { at }),
            () if self.has(Self::PROGRAMMING) => Err(CfiError::Program { at }),
            () => Ok(()),
        }
    }
}

/// The entries of the tables that the driver needs.
struct Table {
    identity: [u8; 5],
    /// The size of a chip, as a power of two.
    size: u8,
    erase_regions: u8,
    /// The size of a chip's block, in units of 256 bytes.
    block: u16,
}

impl Table {
    /// The offset at which tables are queried.
    const ENTRY: u32 = 0x55 * WORD as u32;
    /// The tables' signature, and the Intel command set.
    const IDENTITY: [u8; 5] = *b"QRY\x01\0";
    /// The size of a block as each chip reports it; the bank's is twice as large.
    const BLOCK: u16 = (Cfi::ERASE_SIZE / 2 / 256) as u16;

    fn read(bank: &Cfi) -> Self {
        let entry = |index: u32| bank.read_word(index * WORD as u32);
        // Entries in which the chips differ are ignored.
        let byte = |index| if entry(index) == (entry(index) & 0xff) * EACH { entry(index) as u8 } else { 0 };
        Self {
            identity: [0x10, 0x11, 0x12, 0x13, 0x14].map(byte),
            size: byte(0x27),
            erase_regions: byte(0x2c),
            block: u16::from_le_bytes([0x2f, 0x30].map(byte)),
        }
    }

    /// Returns the bank's bytes if this driver supports it.
    fn capacity(&self) -> Option<u32> {
        let known = self.identity == Self::IDENTITY && self.erase_regions == 1 && self.block == Self::BLOCK;
        let bank = u32::from(self.size) + 1;
        known.then(|| 1_u32.checked_shl(bank)).flatten()
    }
}

/// An error of the flash; `Display` is a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CfiError {
    /// There is no bank of two chips with the Intel command set.
    Unknown,
    /// A mistake of the caller.
    Caller(NorFlashErrorKind),
    /// The block is protected.
    Locked {
        /// A byte in the block.
        at: u32,
    },
    /// The voltage is too low for changes.
    Voltage,
    /// A block could not be erased.
    Erase {
        /// The block's first byte.
        at: u32,
    },
    /// A word could not be written.
    Program {
        /// The word's first byte.
        at: u32,
    },
    /// A chip did not become ready.
    Dead,
}

impl fmt::Display for CfiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("there is no flash of the kind that the firmware is for"),
            Self::Caller(kind) => kind.fmt(f),
            Self::Locked { at } => write!(f, "the flash is protected at byte {at} of it"),
            Self::Voltage => f.write_str("the voltage of the flash is too low"),
            Self::Erase { at } => write!(f, "the flash cannot be erased at byte {at} of it"),
            Self::Program { at } => write!(f, "the flash cannot be written at byte {at} of it"),
            Self::Dead => f.write_str("the flash never becomes ready"),
        }
    }
}

impl core::error::Error for CfiError {}

impl From<NorFlashErrorKind> for CfiError {
    fn from(kind: NorFlashErrorKind) -> Self {
        Self::Caller(kind)
    }
}

impl NorFlashError for CfiError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Caller(kind) => *kind,
            _ => NorFlashErrorKind::Other,
        }
    }
}

impl ErrorType for Cfi {
    type Error = CfiError;
}

impl ReadNorFlash for Cfi {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), CfiError> {
        check_read(self, offset, bytes.len())?;
        for (at, word) in (offset..).step_by(WORD).zip(bytes.chunks_exact_mut(WORD)) {
            word.copy_from_slice(&self.read_word(at).to_le_bytes());
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.capacity as usize
    }
}

impl NorFlash for Cfi {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = 256 << 10;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), CfiError> {
        check_erase(self, from, to)?;
        let outcome = (from..to).step_by(Self::ERASE_SIZE).try_for_each(|block| self.erase_block(block));
        self.end(outcome)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), CfiError> {
        check_write(self, offset, bytes.len())?;
        let (words, _) = bytes.as_chunks::<WORD>();
        let mut words = (offset..).step_by(WORD).zip(words);
        let outcome = words.try_for_each(|(at, word)| self.program(at, u32::from_le_bytes(*word)));
        self.end(outcome)
    }
}
