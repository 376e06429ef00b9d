//! What one job costs on microcontrollers, beside what it costs with the reference: a model is opened, which proves it, a tensor
//! is found and streamed.

mod lines;
mod measure;
mod model;
mod reference;
mod sheet;
mod table;

use super::firmware::{Board, CORTEX_M0, CORTEX_M3, Firmware, RISC_V};
use crate::budget::{self, Row};
use crate::report::{Outcome, Tally};
use crate::toolchain::Toolchain;
use sheet::Sheet;
use std::thread;

/// A processor, and the machine that executes its programs.
struct Target {
    name: &'static str,
    board: &'static Board,
}

const TARGETS: [Target; 3] = [
    Target { name: "Cortex-M0+", board: &CORTEX_M0 },
    Target { name: "Cortex-M3", board: &CORTEX_M3 },
    Target { name: "RV32IMC", board: &RISC_V },
];

/// The one that the budgets of speed are of, and that the reference is shown on.
const JUDGED: &str = "Cortex-M3";

const LEVELS: [&str; 3] = ["s", "z", "3"];
const SMALL: &str = "s";
const FAST: &str = "3";

/// All that was measured, and with what.
pub struct Size {
    sheets: Vec<Sheet>,
    compiler: String,
}

impl Size {
    /// Builds the programs and runs them, which takes a minute or two.
    pub fn measure() -> Result<Self, String> {
        let mut toolchains = Vec::new();
        for target in &TARGETS {
            target.board.need_emulator()?;
            toolchains.push(Toolchain::for_target(target.board.triple)?);
        }
        let compiler = compiler(&toolchains)?;
        let mut sheets = Vec::new();
        for measured in side_by_side(&toolchains) {
            sheets.extend(measured?);
        }
        Ok(Self { sheets, compiler })
    }

    /// Every figure that has a budget or is shown beside one.
    pub fn rows(&self) -> Result<Vec<Row>, String> {
        lines::rows(&self.sheets)
    }

    /// One object with every figure.
    pub fn json(&self) -> Result<String, String> {
        let rows = self.rows()?;
        let sheets: Vec<String> = self.sheets.iter().map(Sheet::json).collect();
        Ok(format!(
            r#"{{"compiler":{},"kept":{},"budgets":{},"figures":[{}]}}"#,
            budget::json_text(&self.compiler),
            rows.iter().all(Row::is_kept),
            budget::json(&rows),
            sheets.join(",")
        ))
    }

    /// The table of the readme.
    pub fn table(&self) -> Result<String, String> {
        table::show(&self.sheets, &self.compiler)
    }

    /// Writes it there.
    pub fn write(&self) -> Result<(), String> {
        budget::write_text(table::PAGE, table::NAME, &self.table()?)
    }
}

/// The targets have directories of their own, so all are built and run at the same time.
fn side_by_side(toolchains: &[Toolchain]) -> Vec<Result<Vec<Sheet>, String>> {
    thread::scope(|scope| {
        let measure = |(target, &toolchain)| scope.spawn(move || levels(target, toolchain));
        let threads: Vec<_> = TARGETS.iter().zip(toolchains).map(measure).collect();
        let panicked = |_| Err("a measurement panicked".to_owned());
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    })
}

fn levels(target: &'static Target, toolchain: Toolchain) -> Result<Vec<Sheet>, String> {
    let measure = |level| measure::measure(target, Firmware::size(toolchain, level));
    LEVELS.into_iter().map(measure).collect()
}

/// All targets have the same one.
fn compiler(toolchains: &[Toolchain]) -> Result<String, String> {
    let mut names = toolchains.iter().map(|toolchain| toolchain.version());
    let first = names.next().ok_or("there is no target")??;
    match names.find(|name| name.as_ref() != Ok(&first)) {
        None => Ok(first),
        Some(other) => Err(format!("targets are built with different compilers: {first} and {}", other?)),
    }
}

/// The stage: each budget is kept, and the readme shows what is.
pub fn judge() -> Outcome {
    let size = Size::measure()?;
    let mut tally = Tally::default();
    let rows = size.rows()?;
    for row in rows.iter().filter(|row| row.limit.is_some()) {
        tally.judged(row, row.judge());
    }
    tally.check("what is unmet is one of these figures", budget::unmet_are_among(&rows));
    tally.check("the readme shows these figures", table::check(&size.sheets, &size.compiler));
    Ok(tally)
}
