//! The costs of the library on microcontrollers: flash, RAM, stack and instructions of every program of
//! `firmware/measure`, at every optimisation level, beside the reference.

mod c;
mod job;
mod lines;
mod machine;
mod model;
mod paths;
mod reference;
mod sheet;

use super::limits::{self, Limits, Place};
use super::{Measured, Options};
use crate::toolchain::Toolchain;
use crate::workers::side_by_side;
use job::{Bench, REFERENCE};
use serde_json::json;
use sheet::Sheet;

pub use machine::{Board, CORTEX_M3, Figures, Firmware, RISC_V, UNWANTED, program};
pub use model::Content;

/// A processor, and the board that runs its programs.
pub struct Target {
    pub name: &'static str,
    pub board: &'static Board,
}

pub const TARGETS: [Target; 3] = [
    Target { name: "Cortex-M0+", board: &machine::CORTEX_M0 },
    Target { name: JUDGED, board: &CORTEX_M3 },
    Target { name: "RV32IMC", board: &RISC_V },
];

/// The target that the reference is shown on.
const JUDGED: &str = "Cortex-M3";

pub const LEVELS: [&str; 3] = [SMALL, "z", "3"];
pub const SMALL: &str = "s";

/// Whether paths are counted on this target at this level: for size, as most firmware is built, and for
/// speed.
fn is_counted(target: &str, level: &str) -> bool {
    [JUDGED, "RV32IMC"].contains(&target) && [SMALL, "3"].contains(&level)
}

/// Returns the targets and levels where paths are counted, by the names that `benches/limits.toml` has for
/// them.
#[cfg(test)]
pub fn counted_places() -> Vec<String> {
    let pairs = TARGETS.iter().flat_map(|target| LEVELS.map(|level| (target.name, level)));
    pairs
        .filter(|(target, level)| is_counted(target, level))
        .map(|(target, level)| format!("{target}, {level}"))
        .collect()
}

/// Measures all of it; or, for a quick test, one level of one target for each architecture, without the
/// reference.
pub fn measure(options: &Options) -> Result<Measured, String> {
    // Reports a mistake in the limits before anything is built.
    Limits::read()?;
    let sheets = if options.quick {
        sheets(&TARGETS[1..], &LEVELS[..1], true)
    } else {
        sheets(&TARGETS, &LEVELS, false)
    }?;
    let places: Vec<Place> = sheets.iter().filter_map(Sheet::place).collect();
    if options.bless {
        limits::bless(&places)?;
    }
    let limits = Limits::read()?;
    let judged = limits.judge(&places);
    let lines = lines::rows(&limits.firmware, &sheets, options.quick)?;
    let tables = if options.quick { Vec::new() } else { lines::tables(&limits, &sheets)? };
    Ok(Measured {
        rows: lines.into_iter().chain(judged.rows).collect(),
        errors: judged.errors,
        notes: judged.notes,
        tables,
        details: json!({ "figures": sheets.iter().map(Sheet::json).collect::<Vec<_>>() }),
        ..Measured::default()
    })
}

fn sheets(targets: &'static [Target], levels: &[&'static str], quick: bool) -> Result<Vec<Sheet>, String> {
    targets.iter().try_for_each(|target| target.board.need_emulator())?;
    let triples: Vec<&str> = targets.iter().map(|target| target.board.triple).collect();
    if !quick {
        c::need(&triples)?;
    }
    let (toolchains, mut sheets) = (Toolchain::for_targets(&triples)?, Vec::new());
    if !quick {
        crate::c::build_library(&toolchains)?;
    }
    for level in levels {
        let firmware = Firmware { toolchains: &toolchains, level };
        firmware.build()?;
        if !quick {
            firmware.build_with(REFERENCE, REFERENCE)?;
        }
        let benches = targets.iter().zip(&toolchains);
        let benches = benches.map(|(target, &toolchain)| Bench { target, toolchain, level });
        for sheet in side_by_side(benches, |bench| job::measure(bench, quick)) {
            sheets.push(sheet?);
        }
    }
    match sheets.iter().find(|sheet: &&Sheet| sheet.compiler != sheets[0].compiler) {
        None => Ok(sheets),
        Some(other) => {
            let (one, other) = (&sheets[0].compiler, &other.compiler);
            Err(format!("targets have different compilers: {one} and {other}"))
        }
    }
}

/// Checks that the pages contain the promises of the limits; the error names the first that is missing.
pub fn check_promises() -> Result<(), String> {
    lines::check_promises(&Limits::read()?.firmware)
}

/// Makes a file for other measurements.
pub fn file_of(content: Content) -> Vec<u8> {
    model::make(content).file
}
