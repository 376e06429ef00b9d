//! The proof that the core cannot panic: firmware with all of it in links, though its panic handler
//! calls a function that exists nowhere.

use crate::elf::Elf;
use crate::measure::firmware::{Firmware, LEVELS, UNWANTED, program};
use crate::report::{Outcome, Tally};
use crate::toolchain::{BARE_TARGETS, Toolchain};

/// One target tells what a feature costs that is not used.
const LOGGED: &str = "thumbv7m-none-eabi";
/// What a linker says of the function that the panic handler calls.
const MISSED: &str = "undefined symbol: a_panic_path_survived";

/// At every level, for every target.
pub fn no_panic() -> Outcome {
    let toolchains = Toolchain::for_targets(&BARE_TARGETS)?;
    let mut tally = Tally::default();
    for level in LEVELS {
        judge(Firmware { toolchains: &toolchains, level }, &mut tally);
    }
    let log = "is as large with the feature defmt, where nothing is logged";
    tally.check(&format!("{LOGGED} {log}"), log_is_free(Toolchain::for_target(LOGGED)?));
    let trap = "does not link with a panic in it, for any target";
    tally.check(trap, trap_works(Firmware { toolchains: &toolchains, level: LEVELS[0] }));
    Ok(tally)
}

/// At one level, for one target of each architecture.
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

/// For every target the link fails because the function is undefined.
fn trap_works(firmware: Firmware<'_>) -> Result<(), String> {
    match firmware.build_refused("everything", "with-panic")?.iter().find(|said| !said.contains(MISSED)) {
        None => Ok(()),
        Some(said) => Err(format!("a link failed, but not because the function is undefined:\n{said}")),
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

/// How large the program is: its functions, its constants, its memory, and what it would have to tell a log.
fn sizes(toolchain: Toolchain) -> Result<[usize; 4], String> {
    let elf = Elf::open(&program(toolchain, "everything"))?;
    let functions = elf.size_of_functions().ok_or("the linked program has no symbol table")?;
    let [constants, memory, log] =
        [&[".rodata"][..], &[".data", ".bss"], &[".defmt"]].map(|names| elf.size_of(names));
    Ok([functions, constants, memory, log])
}
