//! Times of the Python package, beside the reference's in the same run, as measured by a script of the
//! package.

use super::table::{Difference, Likeness, Table};
use super::{Measured, Options, Row};
use crate::process::Run;
use crate::python;
use crate::stages::pages::COSTS;
use serde_json::{Value, json};

const SCRIPT: &str = "crates/safetensors-python/benches/speed.py";

pub fn measure(_: &Options) -> Result<Measured, String> {
    let output = Run::new(python::installed("main")?).args(["-B", SCRIPT]).limit(900).capture()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figures = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    let figures = figures.map_err(|error| format!("{SCRIPT} does not print figures ({error}):\n{text}"))?;
    let lines: String = figures.iter().map(line).collect();
    let table = Table {
        page: COSTS,
        name: "python",
        text: format!("| what | here | reference | ratio |\n|---|---|---|---|\n{lines}"),
        likeness: Likeness { equal: 1, others: Difference::Any },
    };
    Ok(Measured {
        rows: figures.iter().map(row).collect(),
        tables: vec![table],
        details: json!({ "python": figures }),
        ..Measured::default()
    })
}

/// Returns how many times as fast as the reference it is.
fn row(figure: &Value) -> Row {
    let (what, ratio) = (name(figure), figure["ratio"].as_f64().unwrap_or(f64::NAN));
    Row {
        what: format!("{what}, times as fast"),
        ours: hundredths(ratio),
        unit: "x".to_owned(),
        ..Row::default()
    }
}

fn line(figure: &Value) -> String {
    let [ours, reference] =
        ["ours", "reference"].map(|whose| time(figure[whose].as_f64().unwrap_or(f64::NAN)));
    let ratio = figure["ratio"].as_f64().unwrap_or(f64::NAN);
    format!("| {} | {ours} | {reference} | {ratio:.2}x |\n", name(figure))
}

fn name(figure: &Value) -> &str {
    figure["name"].as_str().unwrap_or("?")
}

fn hundredths(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Formats seconds with three digits.
fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1e-3 => format!("{:.1} µs", seconds * 1e6),
        seconds if seconds < 1e-1 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{:.0} ms", seconds * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_units_and_a_ratio() {
        let figure = json!({ "name": "`load`", "ours": 0.5, "reference": 1.2e-6, "ratio": 1.004 });
        assert_eq!(line(&figure), "| `load` | 500 ms | 1.2 µs | 1.00x |\n");
    }
}
