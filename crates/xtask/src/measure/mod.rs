//! What the product costs, measured, judged by `benches/limits.toml`, and shown in pages.

mod desktop;
pub mod firmware;
mod formats;
mod limits;
mod number;
mod row;
mod speed;
mod table;

use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::{python, workspace};
use serde_json::{Value, json};

pub use formats::compare as compare_formats;
pub use number::number;
pub use row::Row;
use std::path::Path;
use table::Table;

/// One of the things that can be measured.
pub struct Measure {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether it counts something that can be blessed.
    pub counts: bool,
    pub run: fn(&Options) -> Result<Measured, String>,
}

pub const MEASURES: [Measure; 4] = [
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
        about: "how fast it is, beside the reference and floors",
        counts: false,
        run: speed::measure,
    },
    Measure {
        name: "formats",
        about: "one vector in many formats, beside its bare bytes",
        counts: false,
        run: formats::measure,
    },
];

/// How to measure.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// What is counted becomes the limit, before anything is judged.
    pub bless: bool,
    /// Only what tells in a minute whether a change is right.
    pub quick: bool,
    /// Also what is only shown in the pages of the report.
    pub pages: bool,
    pub hdf5: bool,
}

/// What was found.
#[derive(Default)]
pub struct Measured {
    /// Each figure with a limit, and those shown without one.
    pub rows: Vec<Row>,
    /// What is wrong with the limits.
    pub faults: Vec<String>,
    /// What is worth a line.
    pub notes: Vec<String>,
    /// What pages show of it.
    pub tables: Vec<Table>,
    /// What people are told besides.
    pub text: String,
    /// What `--json` tells besides: an object.
    pub details: Value,
}

impl Measured {
    /// One object.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(Row::json).collect();
        let mut object = json!({ "kept": self.broken().is_empty(), "limits": rows, "faults": self.faults });
        if let (Some(object), Some(details)) = (object.as_object_mut(), self.details.as_object()) {
            object.extend(details.clone());
        }
        object
    }

    /// Every limit that is broken without being known as unmet, and what is wrong with limits.
    pub fn broken(&self) -> Vec<String> {
        let rows =
            self.rows.iter().filter_map(|row| Some(format!("{}: {}", row.sentence(), row.judge().err()?)));
        rows.chain(self.faults.iter().cloned()).collect()
    }

    /// Writes the tables that are checked.
    pub fn write(&self) -> Result<(), String> {
        self.tables.iter().try_for_each(Table::write)
    }

    /// Counts each limit and each page.
    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for row in &self.rows {
            match row.limit {
                Some(_) => tally.check(&row.sentence(), row.judge()),
                None => println!("        {}", row.sentence()),
            }
        }
        self.faults.iter().for_each(|fault| tally.check("limits", Err(fault.clone())));
        self.notes.iter().for_each(|note| tally.note(note.clone()));
        for table in &self.tables {
            tally.check(&format!("{} shows this as \"{}\"", table.page, table.name), table.check());
        }
        let unmet = self.rows.iter().filter(|row| !row.is_kept() && row.unmet);
        unmet.for_each(|row| tally.note(format!("unmet: {}", row.sentence())));
        tally
    }
}

/// Has the report's script write its other tables and draw its pictures, from what `--json` tells.
pub fn write_report(measured: &Value) -> Result<(), String> {
    let (folder, file) = (Path::new("benches/report"), workspace::target_dir().join("measured.json"));
    workspace::write(&file, measured.to_string().as_bytes())?;
    Run::new(python::environment("python-report", folder)?)
        .args(["-B"])
        .args([folder.join("pages.py"), file])
        .check()
}

/// A stage: every path on one target of each architecture, at one level; and that pages promise no less than the limits.
pub fn judge_quickly() -> Outcome {
    let mut tally = firmware::measure(&Options { quick: true, ..Options::default() })?.tally();
    tally.check("pages promise what the limits are", firmware::check_promises());
    Ok(tally)
}

/// A stage.
pub fn judge_firmware() -> Outcome {
    firmware::measure(&Options::default()).map(|measured| measured.tally())
}

/// A stage.
pub fn judge_desktop() -> Outcome {
    desktop::measure(&Options::default()).map(|measured| measured.tally())
}

/// A stage.
pub fn judge_speed() -> Outcome {
    speed::measure(&Options::default()).map(|measured| measured.tally())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_in_the_limits_is_one_that_is_counted() {
        let boards = firmware::counted_places();
        for place in limits::Limits::read().unwrap().places() {
            let is_desktop = ["desktop, ", "heap, "].iter().any(|what| place.starts_with(what));
            assert!(is_desktop || boards.contains(place), "{place}");
        }
    }

    #[test]
    fn json_tells_what_was_found_and_what_besides() {
        let row = Row { what: "flash".to_owned(), ours: 5.0, ..Row::default() };
        let measured =
            Measured { rows: vec![row], details: json!({ "figures": [1] }), ..Measured::default() };
        let due = json!({ "kept": true, "limits": [{ "what": "flash", "ours": 5.0, "unit": "", "kept": true }], "faults": [], "figures": [1] });
        assert_eq!(measured.json(), due);
    }
}
