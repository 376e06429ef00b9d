//! What the firmware is asked, and how its answer is judged.

use super::Machine;
use crate::elf::Elf;
use crate::stages::firmware::{FLASH, Figures};

/// What the firmware `cost` is asked for, and the file that it finds in the machine's memory.
pub struct Request {
    /// Which door, by the number that `firmware/linkcheck` gives it.
    pub door: u32,
    pub slots: u32,
    pub file: Vec<u8>,
    /// How long the file claims to be.
    pub file_len: u64,
}

impl Request {
    /// Four words that `firmware/linkcheck` reads, and the file.
    fn bytes(self) -> Vec<u8> {
        let words = [self.door.into(), self.slots.into(), self.file.len() as u64, self.file_len];
        // Our own small numbers: the upper half of each is zero.
        let words = words.into_iter().flat_map(|word: u64| word.to_le_bytes().into_iter().take(4));
        words.chain(self.file).collect()
    }
}

impl Machine {
    /// Runs the firmware that measures.
    pub fn run(&self, request: Request) -> Result<Figures, String> {
        self.board.run(self.firmware.program("cost"), &request.bytes())
    }

    /// What a program has more in flash than one that does nothing.
    pub fn flash(&self, program: &str) -> Result<u64, String> {
        let flash = |name| Elf::open(&self.firmware.program(name)).map(|elf| elf.size_of(&FLASH));
        Ok(flash(program)?.saturating_sub(flash("empty")?) as u64)
    }
}

pub fn at_most(name: &str, value: u64, most: u64) -> Result<(), String> {
    if value <= most { Ok(()) } else { Err(format!("{name} takes {value} bytes, more than {most}")) }
}

/// The number with a comma between thousands and hundreds, as people read it.
pub fn in_bytes(number: u64) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => format!("{rest} B"),
        (thousands, rest) => format!("{thousands},{rest:03} B"),
    }
}
