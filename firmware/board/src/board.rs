//! A program on a board, from its first word to its exit code.

use crate::{exit, memory::Ram};
use app::{Event, Hears};

/// The exit code of a program that has needed more RAM than it may.
const TOO_SMALL: u8 = 4;

/// A board.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    /// What it is called.
    pub name: &'static str,
    /// Its processor.
    pub cpu: &'static str,
    /// How many bytes of flash it has.
    pub flash: u32,
    /// How many bytes of RAM a program can have.
    pub ram: u32,
}

impl Board {
    /// Tells of the board, runs a program, tells what RAM it needed of what it may need, and ends. A program that fails has
    /// told why, and gives its exit code; what it needed is told all the same.
    pub fn run<S: Hears<&'static str>>(
        &self,
        mut sink: S,
        limit: u32,
        program: impl FnOnce(&mut S) -> Result<(), u8>,
    ) -> ! {
        let Self { name, cpu, flash, ram } = *self;
        sink.event(&Event::Board { name, cpu, flash, ram });
        let outcome = program(&mut sink);
        let enough = report_ram(&mut sink, limit);
        exit(outcome.and(enough).err().unwrap_or(0).into())
    }
}

fn report_ram(sink: &mut impl Hears<&'static str>, limit: u32) -> Result<(), u8> {
    let used = Ram::used();
    let Ram { statics, stack, .. } = used;
    sink.event(&Event::Ram { statics, stack, limit });
    if used.total() <= limit && !used.all {
        return Ok(());
    }
    sink.failure(&"error: the program has needed more RAM than it may");
    Err(TOO_SMALL)
}
