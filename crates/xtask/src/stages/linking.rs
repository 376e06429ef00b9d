//! Shows that the library cannot panic: firmware with all of it links, though its panic handler calls an
//! undefined function.

use crate::elf::Elf;
use crate::measure::{UNWANTED, build, program};
use crate::report::{Outcome, Tally};
use crate::toolchain::{BARE_TARGETS, Toolchain};

const EVERYTHING: [&str; 1] = ["everything"];
const LEVELS: [&str; 3] = ["s", "z", "3"];
/// A target to measure the cost of an unused feature.
const LOGGED: &str = "thumbv7m-none-eabi";
/// The linker's message about the function that the panic handler calls.
const UNDEFINED: &str = "undefined symbol: a_panic_path_survived";

/// Links at every level, for every target.
pub fn no_panic() -> Outcome {
    let toolchains = Toolchain::for_targets(&BARE_TARGETS)?;
    let mut tally = Tally::default();
    LEVELS.iter().for_each(|level| judge(&toolchains, level, &mut tally));
    let log = "is as large with the feature defmt as without, if nothing is logged";
    tally.check(&format!("{LOGGED} {log}"), log_is_free(Toolchain::for_target(LOGGED)?));
    for toolchain in toolchains {
        let trap = format!("a program with a panic does not link for {}", toolchain.triple);
        tally.check(&trap, trap_works(toolchain));
    }
    Ok(tally)
}

/// Links at one level, for one target of each architecture.
pub fn one_level() -> Outcome {
    let toolchains = Toolchain::for_targets(&[LOGGED, "riscv32imc-unknown-none-elf"])?;
    let mut tally = Tally::default();
    judge(&toolchains, LEVELS[0], &mut tally);
    Ok(tally)
}

fn judge(toolchains: &[Toolchain], level: &str, tally: &mut Tally) {
    let built = build(toolchains, level, &EVERYTHING, "");
    for toolchain in toolchains {
        let links = || Elf::open(&program(*toolchain, EVERYTHING[0]))?.lacks(&UNWANTED);
        let what = format!("{} links without panics at opt-level {level}", toolchain.triple);
        tally.check(&what, built.clone().and_then(|()| links()));
    }
}

/// Checks that the link fails because the function is undefined.
fn trap_works(toolchain: Toolchain) -> Result<(), String> {
    match build(&[toolchain], LEVELS[0], &EVERYTHING, "with-panic") {
        Ok(()) => Err("it links".to_owned()),
        Err(output) if output.contains(UNDEFINED) => Ok(()),
        Err(output) => Err(format!("the link failed, but not because the function is undefined:\n{output}")),
    }
}

fn log_is_free(toolchain: Toolchain) -> Result<(), String> {
    build(&[toolchain], LEVELS[0], &EVERYTHING, "")?;
    let without = sizes(toolchain)?;
    build(&[toolchain], LEVELS[0], &EVERYTHING, "defmt")?;
    match sizes(toolchain)? {
        with if with == without => Ok(()),
        with => Err(format!("its parts have {with:?} bytes, without the feature {without:?}")),
    }
}

/// Returns the sizes of the program's functions, constants and memory, and of its texts for a log.
fn sizes(toolchain: Toolchain) -> Result<[usize; 4], String> {
    let elf = Elf::open(&program(toolchain, "everything"))?;
    let functions = elf.size_of_functions().ok_or("the linked program has no symbol table")?;
    let [constants, memory, log] =
        [&[".rodata"][..], &[".data", ".bss"], &[".defmt"]].map(|names| elf.size_of(names));
    Ok([functions, constants, memory, log])
}
