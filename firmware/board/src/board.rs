//! A program on a board, from start to exit code.

use crate::{exit, memory::Ram};
use app::{Event, FailureSink};

/// The exit code of a program that has used too much RAM.
const TOO_SMALL: u8 = 4;

/// A board.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    /// The board's name.
    pub name: &'static str,
    /// The processor.
    pub cpu: &'static str,
    /// The bytes of flash.
    pub flash: u32,
    /// The bytes of RAM for a program.
    pub ram: u32,
}

impl Board {
    /// Reports the board, runs a program, reports the RAM it used and its limit, and exits. A program that
    /// fails reports the reason and returns its exit code; its RAM is reported in any case.
    pub fn run<S: FailureSink<&'static str>>(
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

fn report_ram(sink: &mut impl FailureSink<&'static str>, limit: u32) -> Result<(), u8> {
    let used = Ram::used();
    let Ram { statics, stack, .. } = used;
    sink.event(&Event::Ram { statics, stack, limit });
    if used.total() <= limit && !used.all {
        return Ok(());
    }
    sink.failure(&"error: the program has needed more RAM than it may");
    Err(TOO_SMALL)
}
