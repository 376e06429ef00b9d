//! What `benches/report/memory.md` and the readme show of heaps and memory.

use super::Place;
use super::limits::Limits;
use super::memory;
use crate::budget::{self, Likeness, Row};
use crate::report::Tally;

const PAGE: &str = "benches/report/memory.md";
const README: &str = "README.md";
const HEAP: &str = "heap";
const MEMORY: &str = "memory";

/// What a program has resident is never twice the same, and depends on the system: figures that are as near as this, in KiB, are alike.
const NEAR: Likeness = Likeness::By(1024.0);

/// Writes the tables.
pub fn write(heap: &[Row], memory: &[Row]) -> Result<(), String> {
    budget::write_table(PAGE, HEAP, heap)?;
    budget::write_table(PAGE, MEMORY, memory)?;
    budget::write_table(README, MEMORY, &memory::told(memory))
}

/// Each page shows what was counted and measured, where that is what they show: on a desktop of which there are limits.
pub fn check(limits: &Limits, places: &[Place], memory: &[Row], tally: &mut Tally) {
    let heap = places.iter().find(|place| place.name.starts_with(HEAP) && limits.knows(place));
    let Some(heap) = heap else { return };
    let stale = |outcome: Result<(), String>| {
        outcome.map_err(|sentence| format!("{sentence}\n(`cargo xtask counts --write` writes it)"))
    };
    let table = budget::show(&limits.judge(heap).rows);
    tally
        .check("the page shows these heaps", stale(budget::check(PAGE, HEAP, &table, limits.likeness(heap))));
    tally.check("the page shows this memory", stale(check_memory(PAGE, memory)));
    tally.check("the readme shows this memory", stale(check_memory(README, &memory::told(memory))));
}

fn check_memory(page: &str, rows: &[Row]) -> Result<(), String> {
    compare(&budget::shown(page, MEMORY)?, rows)
        .map_err(|sentence| format!("the table {MEMORY} in {page} is stale: {sentence}"))
}

/// The figures are near, and all else is equal.
fn compare(shown: &str, rows: &[Row]) -> Result<(), String> {
    let due = budget::show(rows);
    budget::compare(&with_cells(shown, 2), &with_cells(&due, 2), Likeness::Equal)?;
    budget::compare(shown.trim(), due.trim(), NEAR)
}

/// The first so many cells of each line.
fn with_cells(table: &str, count: usize) -> String {
    let cut = |line: &str| line.split('|').take(1 + count).collect::<Vec<_>>().join("|") + "\n";
    table.trim().lines().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Limit;

    fn rows(ours: f64) -> Vec<Row> {
        let row = Row {
            what: "Model, 6 GiB".to_owned(),
            limit: Some(Limit::AtMost(2048.0)),
            ours,
            unit: "KiB",
            reference: Some(262_000.0),
        };
        vec![row]
    }

    #[test]
    fn what_programs_have_resident_is_never_twice_the_same() {
        let shown = budget::show(&rows(152.0));
        assert_eq!(compare(&shown, &rows(152.0)), Ok(()));
        assert_eq!(compare(&shown, &rows(0.0)), Ok(()));
        assert!(compare(&shown, &rows(1177.0)).is_err());
        assert!(compare(&shown.replace("262,000", "131,000"), &rows(152.0)).is_err());
    }

    #[test]
    fn each_page_has_the_rows_that_it_should_have() {
        let names = |page| budget::shown(page, MEMORY).expect("its table");
        let first = |table: &str| table.lines().skip(2).map(|line| with_cells(line, 1)).collect::<Vec<_>>();
        let due = |is_due: fn(&str) -> bool| {
            memory::names().filter(|name| is_due(name)).map(|name| format!("| {name} \n")).collect::<Vec<_>>()
        };
        assert_eq!(first(&names(PAGE)), due(|_| true));
        assert_eq!(first(&names(README)), due(memory::is_told));
    }

    #[test]
    fn names_and_budgets_are_equal() {
        let shown = budget::show(&rows(152.0));
        for (word, other) in [("6 GiB", "7 GiB"), ("2,048", "2,049"), ("Model", "FileModel")] {
            assert!(compare(&shown.replace(word, other), &rows(152.0)).is_err(), "{other}");
        }
        assert!(compare(&shown, &[]).is_err());
    }
}
