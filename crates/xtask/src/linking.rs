//! Shows that the library cannot panic: firmware with all of it links, though its panic handler calls an
//! undefined function.

use crate::elf::Elf;
use crate::measure::{self, UNWANTED};
use crate::report::{Outcome, Tally};
use crate::toolchain::{BARE_TARGETS, Toolchain};

const LEVELS: [&str; 3] = ["s", "z", "3"];
/// The linker's message about the function that the panic handler calls.
const UNDEFINED: &str = "undefined symbol: a_panic_path_survived";
/// The target that shows what the feature `defmt` costs if nothing is logged.
const LOGGED: &str = "thumbv7m-none-eabi";

/// Links at every level, for every target.
pub fn no_panic() -> Outcome {
    let toolchains = Toolchain::for_targets(&BARE_TARGETS)?;
    let mut tally = Tally::default();
    for level in LEVELS {
        let built = build(&toolchains, level, "");
        for toolchain in &toolchains {
            let links = built.clone().and_then(|()| program(*toolchain)?.lacks(&UNWANTED));
            tally.check(&format!("{} links without panics at opt-level {level}", toolchain.triple), links);
        }
    }
    let log = "is as large with the feature defmt as without, if nothing is logged";
    tally.check(&format!("{LOGGED} {log}"), log_is_free(Toolchain::for_target(LOGGED)?));
    let outcome = match build(&toolchains[..1], LEVELS[0], "with-panic") {
        Err(text) if text.contains(UNDEFINED) => Ok(()),
        other => Err(format!("it links, or fails otherwise: {other:?}")),
    };
    tally.check("a program with a panic does not link", outcome);
    Ok(tally)
}

fn build(toolchains: &[Toolchain], level: &str, feature: &str) -> Result<(), String> {
    measure::build(toolchains, level, &["everything"], feature)
}

fn program(toolchain: Toolchain) -> Result<Elf, String> {
    Elf::open(&measure::program(toolchain, "everything"))
}

fn log_is_free(toolchain: Toolchain) -> Result<(), String> {
    let sizes = |features| {
        build(&[toolchain], LEVELS[0], features)?;
        let elf = program(toolchain)?;
        let functions = elf.size_of_functions();
        let parts = [&[".rodata"][..], &[".data", ".bss"], &[".defmt"]].map(|names| elf.size_of(names));
        Ok::<_, String>((functions, parts))
    };
    match (sizes("")?, sizes("defmt")?) {
        (without, with) if with == without => Ok(()),
        (without, with) => Err(format!("its parts have {with:?} bytes, without the feature {without:?}")),
    }
}
