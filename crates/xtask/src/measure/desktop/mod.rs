//! The instructions, heap and memory of the main paths on a desktop. Instructions and heap counts are
//! exact, and the same on every computer under any load; memory is as exact as the system makes it.

mod callgrind;
mod commands;
mod dhat;
mod memory;

use super::limits::{self, Limits, Place};
use super::row::{Row, table};
use super::table::{Difference, Likeness, Table};
use super::{Measured, Options};
use crate::stages::pages;
use crate::toolchain::{own_cargo, own_version};
use crate::workers::side_by_side;
use crate::workspace;
use std::env::consts::ARCH;

/// The name of the function in `benches/counts/main.rs`.
const COUNTED: &str = "counts::counted";

const PAGE: &str = "benches/report/memory.md";

/// Resident memory differs from run to run and from system to system: the tolerance in KiB.
const NEAR: f64 = 1024.0;

/// How much heap figures may differ from the page: with the same compiler, and with another.
const SAME: f64 = 0.02;
const ANOTHER: f64 = 0.25;

pub fn measure(options: &Options) -> Result<Measured, String> {
    if !cfg!(target_os = "linux") {
        let notes = vec!["skipped: desktop paths are only counted on Linux".to_owned()];
        return Ok(Measured { notes, ..Measured::default() });
    }
    callgrind::need()?;
    type Count = fn() -> Result<Vec<(String, u64)>, String>;
    let counts = [("desktop", "instructions", instructions as Count), ("heap", "", commands::heap)];
    let places = side_by_side(counts, |(what, unit, count)| place(what, unit, count()?));
    let counted = places.into_iter().collect::<Result<Vec<Place>, String>>()?;
    if options.bless {
        limits::bless(&counted)?;
    }
    let (limits, memory) = (Limits::read()?, memory::measure()?);
    if !limits.has_counts_for(ARCH) {
        let notes = vec![format!("skipped: there are no counts for {ARCH} yet; --bless writes them")];
        return Ok(Measured { rows: memory, notes, ..Measured::default() });
    }
    let heap = &counted[1..];
    let (heaps, same) = (limits.judge(heap).rows, heap.iter().all(|heap| limits.has_compiler_of(heap)));
    let judged = limits.judge(&counted);
    Ok(Measured {
        tables: tables(&heaps, &memory, if same { SAME } else { ANOTHER }),
        rows: judged.rows.into_iter().chain(memory).collect(),
        errors: judged.errors,
        notes: judged.notes,
        ..Measured::default()
    })
}

fn tables(heap: &[Row], memory: &[Row], difference: f64) -> Vec<Table> {
    let heaps = Likeness { equal: 1, others: Difference::Part(difference) };
    let near = Likeness { equal: 2, others: Difference::Amount(NEAR) };
    vec![
        Table { page: PAGE, name: "heap", text: table(heap), likeness: heaps },
        Table { page: PAGE, name: "memory", text: table(memory), likeness: near },
        Table { page: pages::COSTS, name: "memory", text: table(&memory::shown(memory)), likeness: near },
    ]
}

fn place(what: &str, unit: &'static str, counts: Vec<(String, u64)>) -> Result<Place, String> {
    let name = format!("{what}, {ARCH}");
    Ok(Place { name, compiler: own_version()?, unit, counts })
}

/// Counts the instructions of the library's paths and of commands.
fn instructions() -> Result<Vec<(String, u64)>, String> {
    let build = ["build", "--release", "--quiet", "--package", "verification", "--features", "std"];
    own_cargo().args(build).args(["--bin", "counts"]).capture()?;
    let program = workspace::target_dir().join("release/counts");
    let mut counts = callgrind::calls(&program, COUNTED)?;
    counts.extend(commands::instructions()?);
    Ok(counts)
}
