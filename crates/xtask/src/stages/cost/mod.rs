//! What the core costs on a microcontroller: stack, flash, instructions, sizes of its states.

mod doors;
mod figures;
mod headers;
mod streaming;

use super::firmware::{Board, CORTEX_M3, Firmware, RISC_V};
use crate::report::{Outcome, Tally};
use crate::toolchain::Toolchain;
use crate::workspace;
use figures::in_bytes;

pub fn measure() -> Outcome {
    let mut tally = Tally::default();
    tally.check("the readme promises these limits", check_readme());
    for board in [&CORTEX_M3, &RISC_V] {
        board.need_emulator()?;
        let firmware = Firmware { toolchain: Toolchain::for_target(board.triple)?, level: "s" };
        firmware.build()?;
        let machine = Machine { board, firmware };
        doors::measure(&machine, &mut tally);
        streaming::measure(&machine, &mut tally);
    }
    Ok(tally)
}

/// A board with the firmware for it.
struct Machine {
    board: &'static Board,
    firmware: Firmware,
}

impl Tally {
    /// Counts a measurement that stayed within its limits, and keeps its sentence for the summary.
    fn measured(&mut self, machine: &Machine, outcome: Result<String, String>) {
        let board = machine.board.name;
        match outcome {
            Ok(sentence) => {
                self.check(&format!("{board}: {sentence}"), Ok(()));
                self.notes.push(format!("{board}: {sentence}"));
            }
            Err(sentence) => self.check(board, Err(sentence)),
        }
    }
}

/// The readme says exactly what is measured here, so that no figure there outlives a change here.
fn check_readme() -> Result<(), String> {
    let page = workspace::read(&workspace::root().join("README.md"))?;
    let page = String::from_utf8_lossy(&page).split_whitespace().collect::<Vec<_>>().join(" ");
    let promises = doors::promises().into_iter().chain(streaming::promises());
    match promises.into_iter().find(|promise| !page.contains(promise.as_str())) {
        None => Ok(()),
        Some(promise) => Err(format!("README.md does not say \"{promise}\"")),
    }
}

/// A row of the readme's table of memory.
fn stack_row(door: &str, most: u64) -> String {
    format!("| {door} | at most {} |", in_bytes(most))
}
