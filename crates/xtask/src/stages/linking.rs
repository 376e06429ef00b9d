//! Shows that the library cannot panic: firmware with all of it links, though its panic handler calls an
//! undefined function.

use crate::elf::Elf;
use crate::measure::firmware::{Firmware, LEVELS, UNWANTED, program};
use crate::report::{Outcome, Tally};
use crate::toolchain::{BARE_TARGETS, Toolchain};

/// A target to measure the cost of an unused feature.
const LOGGED: &str = "thumbv7m-none-eabi";
/// The linker's message about the function that the panic handler calls.
const UNDEFINED: &str = "undefined symbol: a_panic_path_survived";

/// Links at every level, for every target.
pub fn no_panic() -> Outcome {
    let toolchains = Toolchain::for_targets(&BARE_TARGETS)?;
    let mut tally = Tally::default();
    for level in LEVELS {
        judge(Firmware { toolchains: &toolchains, level }, &mut tally);
    }
    let log = "is as large with the feature defmt as without, if nothing is logged";
    tally.check(&format!("{LOGGED} {log}"), log_is_free(Toolchain::for_target(LOGGED)?));
    let trap = "a program with a panic does not link for any target";
    tally.check(trap, trap_works(Firmware { toolchains: &toolchains, level: LEVELS[0] }));
    Ok(tally)
}

/// Links at one level, for one target of each architecture.
pub fn one_level() -> Outcome {
    let toolchains = Toolchain::for_targets(&[LOGGED, "riscv32imc-unknown-none-elf"])?;
    let mut tally = Tally::default();
    judge(Firmware { toolchains: &toolchains, level: LEVELS[0] }, &mut tally);
    Ok(tally)
}

fn judge(firmware: Firmware<'_>, tally: &mut Tally) {
    for (&toolchain, built) in firmware.toolchains.iter().zip(firmware.each(|firmware| firmware.build())) {
        let links = || Elf::open(&program(toolchain, "everything"))?.lacks(&UNWANTED);
        let what = format!("{} links without panics at opt-level {}", toolchain.triple, firmware.level);
        tally.check(&what, built.and_then(|()| links()));
    }
}

/// Checks that for every target the link fails because the function is undefined.
fn trap_works(firmware: Firmware<'_>) -> Result<(), String> {
    let outputs = firmware.build_rejected("everything", "with-panic")?;
    match outputs.iter().find(|output| !output.contains(UNDEFINED)) {
        None => Ok(()),
        Some(output) => Err(format!("a link failed, but not because the function is undefined:\n{output}")),
    }
}

fn log_is_free(toolchain: Toolchain) -> Result<(), String> {
    let firmware = Firmware { toolchains: &[toolchain], level: LEVELS[0] };
    firmware.build_only(&["everything"])?;
    let without = sizes(toolchain)?;
    firmware.build_with("everything", "defmt")?;
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
