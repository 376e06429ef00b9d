//! A bank of NOR flash that speaks the Intel command set, as its tables (Common Flash Interface, JEDEC JESD68.01) say.
//!
//! Two chips of 16 bits stand side by side: each has one half of every word of 32 bits, and all commands and answers are there
//! twice. A word that is written is a command or, behind some commands, what they are about. What is read depends on the command before:
//! the contents (*array*), the tables, the status. The driver leaves the bank in array mode, in which the bank is plain memory.
//!
//! No code may run from the bank while it is written. Chips whose blocks lock themselves at power on need an unlocking first,
//! which is not done here.

use core::fmt;
use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase, check_read, check_write,
};

/// The bytes of a word, of which each chip has two.
const WORD: usize = 4;

/// How often the status is read until a chip counts as dead. There is no clock here, so this is an assumption: of reads of
/// 100 ns it is more than six seconds. A chip whose tables (words 0x21 and 0x25) let it take longer for a block needs more.
const PATIENCE: u32 = 1 << 26;

/// The bank.
#[derive(Debug)]
pub struct Cfi {
    base: *mut u32,
    capacity: u32,
}

impl Cfi {
    /// Asks the bank what it is.
    ///
    /// # Safety
    /// Nothing but a bank of flash is at `base`, as many bytes as its tables say, and nothing else uses it.
    ///
    /// # Errors
    /// [`CfiError::Unknown`] when the answer is not that of two chips of the kind this driver is for.
    pub unsafe fn probe(base: usize) -> Result<Self, CfiError> {
        let mut bank = Self { base: core::ptr::with_exposed_provenance_mut(base), capacity: 0 };
        // A command for array mode; or, where a reset has come between a command and its word, a word that changes nothing.
        bank.write_word(0, u32::MAX);
        bank.command(Table::ENTRY, Command::Query);
        let table = Table::read(&bank);
        // Errors from before a reset of the processor alone would be taken for those of the first change.
        bank.command(0, Command::ClearStatus);
        bank.command(0, Command::ReadArray);
        bank.capacity = table.capacity().ok_or(CfiError::Unknown)?;
        Ok(bank)
    }

    fn read_word(&self, offset: u32) -> u32 {
        // SAFETY: the caller of `probe` vouches for the bank; offsets are those of words within it.
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

    /// Until both chips are ready.
    fn wait(&self, offset: u32) -> Result<(), CfiError> {
        let mut answers = (0..PATIENCE).map(|_| Status(self.read_word(offset)));
        answers.find(|status| status.is_ready()).ok_or(CfiError::Dead)?.verdict(offset)
    }

    /// Back to plain memory, whatever has happened.
    fn settle<T>(&mut self, outcome: Result<T, CfiError>) -> Result<T, CfiError> {
        self.command(0, Command::ClearStatus);
        self.command(0, Command::ReadArray);
        outcome
    }
}

/// What makes of 16 bits the same for each chip.
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

/// What the tables say that matters here.
struct Table {
    identity: [u8; 5],
    /// Of one chip, as a power of two.
    size: u8,
    erase_regions: u8,
    /// Of one chip, in units of 256 bytes.
    block: u16,
}

impl Table {
    /// Where tables are asked for.
    const ENTRY: u32 = 0x55 * WORD as u32;
    /// That there are tables, and that the commands are Intel's.
    const IDENTITY: [u8; 5] = *b"QRY\x01\0";
    /// As each chip has them; the bank's are twice as large.
    const BLOCK: u16 = (Cfi::ERASE_SIZE / 2 / 256) as u16;

    fn read(bank: &Cfi) -> Self {
        let entry = |index: u32| bank.read_word(index * WORD as u32);
        // Of entries in which the chips differ, nothing is believed.
        let byte = |index| if entry(index) == (entry(index) & 0xff) * EACH { entry(index) as u8 } else { 0 };
        Self {
            identity: [0x10, 0x11, 0x12, 0x13, 0x14].map(byte),
            size: byte(0x27),
            erase_regions: byte(0x2c),
            block: u16::from_le_bytes([0x2f, 0x30].map(byte)),
        }
    }

    /// How many bytes the bank has, if this driver can serve it.
    fn capacity(&self) -> Option<u32> {
        let known = self.identity == Self::IDENTITY && self.erase_regions == 1 && self.block == Self::BLOCK;
        let bank = u32::from(self.size) + 1;
        known.then(|| 1_u32.checked_shl(bank)).flatten()
    }
}

/// What can go wrong. `Display` is a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CfiError {
    /// No bank of two chips with the Intel command set is there.
    Unknown,
    /// The caller's mistake.
    Caller(NorFlashErrorKind),
    /// The block that was to be changed is protected.
    Locked {
        /// A byte in it.
        at: u32,
    },
    /// The voltage is too low to change anything.
    Voltage,
    /// A block could not be erased.
    Erase {
        /// Its first byte.
        at: u32,
    },
    /// A word could not be written.
    Program {
        /// Its first byte.
        at: u32,
    },
    /// A chip never became ready.
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
        for (at, place) in (offset..).step_by(WORD).zip(bytes.chunks_exact_mut(WORD)) {
            place.copy_from_slice(&self.read_word(at).to_le_bytes());
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
        self.settle(outcome)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), CfiError> {
        check_write(self, offset, bytes.len())?;
        let (words, _) = bytes.as_chunks::<WORD>();
        let mut words = (offset..).step_by(WORD).zip(words);
        let outcome = words.try_for_each(|(at, word)| self.program(at, u32::from_le_bytes(*word)));
        self.settle(outcome)
    }
}
