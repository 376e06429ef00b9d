//! The proof that the core cannot panic: firmware with all of it in links, though its panic handler
//! calls a function that exists nowhere.

use super::firmware::Firmware;
use crate::elf::Elf;
use crate::report::{Outcome, Tally};
use crate::toolchain::{BARE_TARGETS, Toolchain};
use std::thread;

const LEVELS: [&str; 3] = ["s", "z", "3"];
const MISSING_FUNCTION: &str = "a_panic_path_survived";

/// Parts of symbol names that only come with panics, text formatting or unwinding.
const UNWANTED: [&str; 3] = ["panic", "4core3fmt", "unwind"];

pub fn no_panic() -> Outcome {
    let mut tally = Tally::default();
    for triple in BARE_TARGETS {
        tally.add(on_target(Toolchain::for_target(triple)?));
    }
    Ok(tally)
}

/// The levels have target directories of their own, so cargo builds them side by side.
fn on_target(toolchain: Toolchain) -> Tally {
    let built = thread::scope(|scope| {
        let start = |level| scope.spawn(move || links(Firmware { toolchain, level }));
        LEVELS.map(start).map(|thread| thread.join().unwrap_or(Err("the build panicked".to_owned())))
    });
    let mut tally = Tally::default();
    for (level, outcome) in LEVELS.into_iter().zip(built) {
        tally.check(&format!("{} links without panics at opt-level {level}", toolchain.triple), outcome);
    }
    let trap = trap_works(Firmware { toolchain, level: "s" });
    tally.check(&format!("{} does not link with a panic in it", toolchain.triple), trap);
    tally
}

fn links(firmware: Firmware) -> Result<(), String> {
    firmware.build()?;
    let elf = Elf::open(&firmware.program("everything"))?;
    let symbols = elf.symbols().ok_or("the linked program has no symbol table to look into")?;
    let unwanted = |symbol: &&&str| UNWANTED.iter().any(|part| symbol.contains(part));
    match symbols.iter().find(unwanted) {
        None => Ok(()),
        Some(symbol) => Err(format!("the linked program contains {symbol}")),
    }
}

fn trap_works(firmware: Firmware) -> Result<(), String> {
    let said = firmware.build_with_panic()?;
    match said.contains(MISSING_FUNCTION) {
        true => Ok(()),
        false => Err(format!("the link failed, but not for want of {MISSING_FUNCTION}:\n{said}")),
    }
}
