//! What the main paths take of processor and heap, counted exactly and judged by limits that are written down: the same
//! on every machine, however busy it is. And the memory of programs, which is as exact as the system makes it.

mod boards;
mod callgrind;
mod commands;
mod desktop;
mod dhat;
mod limits;
mod memory;
mod pages;

use crate::budget::Row;
use crate::report::{Outcome, Tally};
use crate::workspace;
pub use desktop::count_heap as heap;
use limits::{Judged, Limits};
pub use memory::measure as memory;
pub use pages::write as write_pages;
use std::path::PathBuf;

/// Paths that were taken on one machine, with programs of one compiler.
pub struct Place {
    pub name: String,
    pub compiler: String,
    /// Of what.
    pub unit: &'static str,
    pub counts: Vec<Count>,
}

const INSTRUCTIONS: &str = "instructions";

/// How many a path took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    pub path: String,
    pub number: u64,
}

/// Takes all paths.
pub fn count() -> Result<Vec<Place>, String> {
    let mut places = Vec::new();
    if cfg!(target_os = "linux") {
        places.extend([desktop::count()?, heap()?]);
    } else {
        eprintln!("the paths of a desktop are only counted on Linux");
    }
    places.extend(boards::count()?);
    Ok(places)
}

/// A stage: each path within its limit, and each program within its memory.
pub fn judge() -> Outcome {
    let (mut tally, limits, places) = (Tally::default(), Limits::read(&limits_file())?, count()?);
    let memory = memory()?;
    for judged in limits.judge_all(&places) {
        report(&judged, &mut tally);
    }
    for row in &memory {
        tally.check(&row.sentence(), row.judge());
    }
    pages::check(&limits, &places, &memory, &mut tally);
    Ok(tally)
}

/// The limits of what was counted become what was counted.
pub fn bless(places: &[Place]) -> Result<(), String> {
    let file = limits_file();
    let limits = if file.exists() { Limits::read(&file)? } else { Limits::default() };
    workspace::write(&file, limits.blessed(places).text().as_bytes())
}

/// All that was counted, with its limits, and what is wrong with those.
pub fn rows(places: &[Place]) -> Result<(Vec<Row>, Vec<String>), String> {
    Ok(summed_up(Limits::read(&limits_file())?.judge_all(places)))
}

/// The same of one place.
pub fn rows_of(place: &Place) -> Result<(Vec<Row>, Vec<String>), String> {
    Ok(summed_up(vec![Limits::read(&limits_file())?.judge(place)]))
}

fn summed_up(judged: Vec<Judged>) -> (Vec<Row>, Vec<String>) {
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for Judged { place, rows: more, faults: sentences, .. } in judged {
        rows.extend(more);
        faults.extend(sentences.into_iter().map(|fault| format!("{place}: {fault}")));
    }
    (rows, faults)
}

fn limits_file() -> PathBuf {
    workspace::root().join("benches/counts/limits.txt")
}

/// One line of the summary for each place, and each path that is over its limit.
fn report(judged: &Judged, tally: &mut Tally) {
    for row in &judged.rows {
        tally.check(&row.sentence(), row.judge().map_err(|_| limits::OVER.to_owned()));
    }
    for sentence in &judged.faults {
        tally.check(&judged.place, Err(sentence.clone()));
    }
    judged.notes.iter().for_each(|note| tally.note(note.clone()));
}
