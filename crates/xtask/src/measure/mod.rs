//! Measures the costs of the libraries and the command, compares them with `benches/limits.toml`, and
//! writes them into pages.

mod command;
mod desktop;
pub mod firmware;
mod formats;
mod limits;
mod number;
mod python;
mod row;
mod speed;
mod table;

use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::workspace;
use serde_json::{Value, json};

pub use formats::compare as compare_formats;
pub use number::number;
pub use row::Row;
use std::path::Path;
use table::Table;

/// A named measurement.
pub struct Measure {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether it has counts that can be blessed.
    pub counts: bool,
    pub run: fn(&Options) -> Result<Measured, String>,
}

pub const MEASURES: [Measure; 6] = [
    Measure {
        name: "firmware",
        about: "flash, RAM, stack and instructions on microcontrollers",
        counts: true,
        run: firmware::measure,
    },
    Measure {
        name: "desktop",
        about: "instructions, heap and memory of the main paths on a desktop",
        counts: true,
        run: desktop::measure,
    },
    Measure {
        name: "speed",
        about: "times, beside the reference and floors",
        counts: false,
        run: speed::measure,
    },
    Measure {
        name: "formats",
        about: "one vector in many formats, beside its raw bytes",
        counts: false,
        run: formats::measure,
    },
    Measure {
        name: "python",
        about: "times of the Python package, beside the reference's",
        counts: false,
        run: python::measure,
    },
    Measure {
        name: "command",
        about: "times of the command on large files, beside cp, numpy, openssl and the reference",
        counts: false,
        run: command::measure,
    },
];

/// The options of a measurement.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// Makes the counts the limits, before they are compared.
    pub bless: bool,
    /// Measures only what shows within a minute whether a change is right.
    pub quick: bool,
    /// Measures also what is shown only in the pages of the report.
    pub pages: bool,
    pub hdf5: bool,
}

/// The results of a measurement.
#[derive(Default)]
pub struct Measured {
    /// Each figure with a limit, and those shown without one.
    pub rows: Vec<Row>,
    /// Errors in the limits.
    pub errors: Vec<String>,
    /// Remarks for the summary.
    pub notes: Vec<String>,
    /// The tables for pages.
    pub tables: Vec<Table>,
    /// More output for people.
    pub text: String,
    /// More members for the object of `--json`.
    pub details: Value,
}

impl Measured {
    /// Returns the results as a JSON object.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(Row::json).collect();
        let mut object = json!({ "kept": self.broken().is_empty(), "limits": rows, "faults": self.errors });
        if let (Some(object), Some(details)) = (object.as_object_mut(), self.details.as_object()) {
            object.extend(details.clone());
        }
        object
    }

    /// Returns every broken limit that is not marked as unmet, and the errors in the limits.
    pub fn broken(&self) -> Vec<String> {
        let rows =
            self.rows.iter().filter_map(|row| Some(format!("{}: {}", row.sentence(), row.judge().err()?)));
        rows.chain(self.errors.iter().cloned()).collect()
    }

    /// Writes the tables into their pages.
    pub fn write(&self) -> Result<(), String> {
        self.tables.iter().try_for_each(Table::write)
    }

    /// Counts each limit and each page as a check.
    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for row in &self.rows {
            match row.limit {
                Some(_) => tally.check(&row.sentence(), row.judge()),
                None => println!("        {}", row.sentence()),
            }
        }
        self.errors.iter().for_each(|error| tally.check("limits", Err(error.clone())));
        self.notes.iter().for_each(|note| tally.note(note.clone()));
        for table in &self.tables {
            tally.check(&format!("{} has this as the table \"{}\"", table.page, table.name), table.check());
        }
        let unmet = self.rows.iter().filter(|row| !row.is_kept() && row.unmet);
        unmet.for_each(|row| tally.note(format!("unmet: {}", row.sentence())));
        tally
    }
}

/// Runs the report's script, which writes its other tables and draws its pictures from the JSON object.
pub fn write_report(measured: &Value) -> Result<(), String> {
    let (folder, file) = (Path::new("benches/report"), workspace::target_dir().join("measured.json"));
    workspace::write(&file, measured.to_string().as_bytes())?;
    Run::new(crate::python::environment("main")?).args(["-B"]).args([folder.join("pages.py"), file]).check()
}

/// Runs a stage: every path on one target of each architecture, at one level; and whether the pages'
/// promises match the limits.
pub fn judge_quickly() -> Outcome {
    let mut tally = firmware::measure(&Options { quick: true, ..Options::default() })?.tally();
    tally.check("the promises in pages match the limits", firmware::check_promises());
    Ok(tally)
}

/// Runs a stage: the costs on microcontrollers.
pub fn judge_firmware() -> Outcome {
    firmware::measure(&Options::default()).map(|measured| measured.tally())
}

/// Runs a stage: the costs on a desktop.
pub fn judge_desktop() -> Outcome {
    desktop::measure(&Options::default()).map(|measured| measured.tally())
}

/// Runs a stage: the speed.
pub fn judge_speed() -> Outcome {
    speed::measure(&Options::default()).map(|measured| measured.tally())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_in_the_limits_is_counted() {
        let boards = firmware::counted_places();
        for place in limits::Limits::read().unwrap().places() {
            let is_desktop = ["desktop, ", "heap, "].iter().any(|what| place.starts_with(what));
            assert!(is_desktop || boards.contains(place), "{place}");
        }
    }

    #[test]
    fn json_has_rows_and_details() {
        let row = Row { what: "flash".to_owned(), ours: 5.0, ..Row::default() };
        let measured =
            Measured { rows: vec![row], details: json!({ "figures": [1] }), ..Measured::default() };
        let row = json!({ "what": "flash", "ours": 5.0, "unit": "", "kept": true });
        let expected = json!({ "kept": true, "limits": [row], "faults": [], "figures": [1] });
        assert_eq!(measured.json(), expected);
    }
}
