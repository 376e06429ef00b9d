//! Times of the command on files of 512 MB, beside other programs in the same run, as measured by a script;
//! and its memory, its time to start and its size.

use super::limits::{Limits, Most};
use super::row::{Limit, table};
use super::table::{Difference, Likeness, Table};
use super::{Measured, Options, Row};
use crate::process::Run;
use crate::python::environment;
use crate::stages::{pages, release_command};
use crate::toolchain::own_cargo;
use crate::workspace;
use serde_json::{Value, json};

const SCRIPT: &str = "benches/command/speed.py";
/// Compares quantised tensors of GGUF with gguf-py.
const GGUF: &str = "benches/command/quantised.py";
/// The judged ones.
const QUANTISED: [&str; 4] = ["Q4_0", "Q8_0", "Q4_K", "Q6_K"];

pub fn measure(_: &Options) -> Result<Measured, String> {
    let limits = Limits::read()?.command;
    let python = environment("main")?;
    let torch = environment("torch")?;
    let writer = ["build", "--release", "--quiet", "--package", "verification", "--features", "std"];
    own_cargo().args(writer).args(["--bin", "written"]).capture()?;
    let example = ["build", "--release", "--quiet", "--package", "safetensors-convert", "--example", "gguf"];
    own_cargo().args(example).capture()?;
    let [writer, example] =
        ["written", "examples/gguf"].map(|name| workspace::target_dir().join("release").join(name));
    let files = Run::new(python).args(["-B", SCRIPT]).args([release_command()?, writer, torch]);
    let gguf = Run::new(environment("main")?).args(["-B", GGUF]).args([example]).args(QUANTISED);
    let figures = [figures(SCRIPT, files)?, figures(GGUF, gguf)?].concat();
    let rows: Vec<Row> = figures.iter().map(|figure| row(figure, &limits)).collect();
    let is_measured = |limit: &&Most| rows.iter().any(|row| row.what == limit.what);
    let missing = limits.iter().filter(|limit| !is_measured(limit));
    let likeness = Likeness { equal: 2, others: Difference::Any };
    Ok(Measured {
        errors: missing.map(|limit| format!("no script measures {}", limit.what)).collect(),
        tables: vec![Table { page: pages::COSTS, name: "command", text: table(&rows), likeness }],
        details: json!({ "command": figures }),
        rows,
        ..Measured::default()
    })
}

/// Returns what a script measures.
fn figures(script: &str, run: Run) -> Result<Vec<Value>, String> {
    let output = run.limit(1800).capture()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figures = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    figures.map_err(|error| format!("{script} does not print figures ({error}):\n{text}"))
}

/// Returns the ratio of the times, or the figure itself.
fn row(figure: &Value, limits: &[Most]) -> Row {
    let what = figure["name"].as_str().unwrap_or("?").to_owned();
    let limit = limits.iter().find(|limit| limit.what == what).map(|limit| Limit::AtMost(limit.at_most));
    let (ours, unit) = match (figure["value"].as_f64(), figure["unit"].as_str()) {
        (Some(value), Some(unit)) => (value, unit),
        _ => ((figure["ratio"].as_f64().unwrap_or(f64::NAN) * 100.0).round() / 100.0, "x"),
    };
    Row { what, limit, ours, unit: unit.to_owned(), ..Row::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_ratio_or_has_its_own_unit() {
        let limits = [Most { what: "`pack`".to_owned(), at_most: 1.15 }];
        let ratio = row(&json!({ "name": "`pack`", "ours": 2.0, "other": 1.0, "ratio": 2.004 }), &limits);
        assert_eq!(ratio.sentence(), "`pack`: 2x, ≤ 1.15x");
        assert!(!ratio.is_kept());
        let memory = row(&json!({ "name": "memory", "value": 9000, "unit": "KiB" }), &limits);
        assert_eq!(memory.sentence(), "memory: 9,000 KiB");
    }
}
