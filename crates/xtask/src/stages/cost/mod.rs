//! What the core costs on a microcontroller: stack, flash, instructions, sizes of its states.

mod asked;
mod doors;
mod figures;
mod headers;
mod streaming;
mod values;
mod writing;

use super::firmware::{Board, CORTEX_M3, Firmware, RISC_V};
use super::readme;
use crate::report::{Outcome, Tally};
use crate::toolchain::Toolchain;
use figures::in_bytes;

pub use asked::{Asked, asked};
pub use headers::Header;

pub fn measure() -> Outcome {
    let mut tally = Tally::default();
    let promises = doors::promises()
        .into_iter()
        .chain(streaming::promises())
        .chain(values::promises())
        .chain(writing::promises());
    tally.check("the readme promises these limits", readme::check(promises));
    let documented = readme::check_page(streaming::DOCUMENTED, [streaming::documented()]);
    tally.check("the documentation of Model promises these limits", documented);
    for board in [&CORTEX_M3, &RISC_V] {
        board.need_emulator()?;
        let firmware = Firmware::linkcheck(Toolchain::for_target(board.triple)?, "s");
        firmware.build()?;
        let machine = Machine { board, firmware };
        doors::measure(&machine, &mut tally);
        streaming::measure(&machine, &mut tally);
        values::measure(&machine, &mut tally);
        writing::measure(&machine, &mut tally);
    }
    Ok(tally)
}

/// A board with the firmware for it.
pub struct Machine {
    pub board: &'static Board,
    pub firmware: Firmware,
}

/// A row of the readme's table of memory.
fn stack_row(door: &str, most: u64) -> String {
    format!("| {door} | at most {} |", in_bytes(most))
}
