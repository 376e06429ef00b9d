//! The proof that the core cannot panic: firmware with all of it in links, though its panic handler
//! calls a function that exists nowhere.

use crate::elf::Elf;
use crate::measure::firmware::{Firmware, LEVELS, UNWANTED};
use crate::report::{Outcome, Tally};
use crate::toolchain::{BARE_TARGETS, Toolchain};
use crate::workers::side_by_side;

/// One target tells what a feature costs that is not used.
const LOGGED: &str = "thumbv7m-none-eabi";
const MISSING_FUNCTION: &str = "a_panic_path_survived";

/// At every level, for every target.
pub fn no_panic() -> Outcome {
    judge_all(&BARE_TARGETS, judge)
}

/// At one level, for one target of each architecture.
pub fn one_level() -> Outcome {
    judge_all(&[LOGGED, "riscv32imc-unknown-none-elf"], |toolchain| vec![judge_level(toolchain, LEVELS[0])])
}

fn judge_all(triples: &[&'static str], judge: fn(Toolchain) -> Vec<Verdict>) -> Outcome {
    let mut toolchains = Vec::new();
    for triple in triples {
        toolchains.push(Toolchain::for_target(triple)?);
    }
    let mut tally = Tally::default();
    for (toolchain, verdicts) in toolchains.iter().zip(side_by_side(toolchains.iter().copied(), judge)) {
        for (what, verdict) in verdicts {
            tally.check(&format!("{} {what}", toolchain.triple), verdict);
        }
    }
    Ok(tally)
}

/// What was tried, and whether it went as it must.
type Verdict = (String, Result<(), String>);

fn judge(toolchain: Toolchain) -> Vec<Verdict> {
    let mut verdicts = LEVELS.map(|level| judge_level(toolchain, level)).to_vec();
    let smallest = Firmware { toolchain, level: LEVELS[0] };
    if toolchain.triple == LOGGED {
        let log = "is as large with the feature defmt, where nothing is logged";
        verdicts.push((log.to_owned(), log_is_free(smallest)));
    }
    verdicts.push(("does not link with a panic in it".to_owned(), trap_works(smallest)));
    verdicts
}

fn judge_level(toolchain: Toolchain, level: &'static str) -> Verdict {
    (format!("links without panics at opt-level {level}"), links(Firmware { toolchain, level }))
}

fn links(firmware: Firmware) -> Result<(), String> {
    firmware.build()?;
    Elf::open(&firmware.program("everything"))?.lacks(&UNWANTED)
}

fn trap_works(firmware: Firmware) -> Result<(), String> {
    let said = firmware.build_refused("everything", "with-panic")?;
    match said.contains(MISSING_FUNCTION) {
        true => Ok(()),
        false => Err(format!("the link failed, but not for want of {MISSING_FUNCTION}:\n{said}")),
    }
}

fn log_is_free(firmware: Firmware) -> Result<(), String> {
    firmware.build_only(&["everything"])?;
    let without = sizes(firmware)?;
    firmware.build_with("everything", "defmt")?;
    match sizes(firmware)? {
        with if with == without => Ok(()),
        with => Err(format!("its parts have {with:?} bytes, without the feature {without:?}")),
    }
}

/// How large the program is: its functions, its constants, its memory, and what it would have to tell a log.
fn sizes(firmware: Firmware) -> Result<[usize; 4], String> {
    let elf = Elf::open(&firmware.program("everything"))?;
    let functions = elf.size_of_functions().ok_or("the linked program has no symbol table")?;
    let [constants, memory, log] =
        [&[".rodata"][..], &[".data", ".bss"], &[".defmt"]].map(|names| elf.size_of(names));
    Ok([functions, constants, memory, log])
}
