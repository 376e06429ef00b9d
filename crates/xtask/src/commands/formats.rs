//! `cargo xtask formats`: one vector in the formats that the field compares.

use super::Command;
use crate::budget::{self, Row};
use crate::formats::{self, Figures};
use crate::process;
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "formats",
    about: "one vector in many formats, beside its bare bytes (--json; --hdf5: with HDF5, which takes cmake; --write: the page that shows all of it)",
    run,
};

fn run(words: &[String]) -> Result<ExitCode, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if !matches!(words[..], [] | ["--json"] | ["--hdf5"] | ["--hdf5", "--json"] | ["--write"]) {
        return Err("usage: cargo xtask formats [[--hdf5] [--json] | --write]".to_owned());
    }
    if words.contains(&"--json") {
        process::keep_stdout();
    }
    // The page shows every format: whoever writes it has them all.
    let figures = Figures::measure(words.contains(&"--hdf5") || words == ["--write"])?;
    let rows = figures.rows()?;
    match words[..] {
        [.., "--json"] => println!(r#"{{"rows":{},"formats":{}}}"#, budget::json(&rows), figures.json()),
        ["--write"] => formats::write(&figures)?,
        _ => print!("{}", figures.text()),
    }
    if !words.contains(&"--json") {
        rows.iter().for_each(|row| println!("{}", row.sentence()));
    }
    Ok(if rows.iter().all(Row::is_kept) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
