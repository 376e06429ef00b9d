//! The table that the readme shows.

use super::lines::{LINES, Line};
use super::sheet::Sheet;
use super::{JUDGED, TARGETS};
use crate::budget::{self, Likeness, Limit, Row};

pub const PAGE: &str = "README.md";
pub const NAME: &str = "size";

/// With another compiler figures are others, but not by more than this part of them.
const ANOTHER_COMPILER: f64 = 0.15;
/// What messages of panics take depends on where sources lie, and the reference has them.
const ELSEWHERE: f64 = 0.02;

/// The table, and with what it was measured.
pub fn show(sheets: &[Sheet], compiler: &str) -> Result<String, String> {
    Ok(format!("{}\n{}\n", lines(sheets)?, measured_with(compiler)))
}

/// An error when the readme shows other figures than these.
pub fn check(sheets: &[Sheet], compiler: &str) -> Result<(), String> {
    let shown = budget::shown(PAGE, NAME)?;
    stale(&shown, &lines(sheets)?, compiler).map_err(|sentence| {
        format!("{PAGE}: the table {NAME} is stale (`cargo xtask size --write` writes it): {sentence}")
    })
}

fn stale(shown: &str, lines: &str, compiler: &str) -> Result<(), String> {
    let (table, with) = shown.rsplit_once("\n\n").unwrap_or((shown, ""));
    let (table, lines) = (table.trim(), lines.trim());
    if with.trim() != measured_with(compiler) {
        return budget::compare(table, lines, Likeness::Within(ANOTHER_COMPILER));
    }
    budget::compare(&without_reference(table), &without_reference(lines), Likeness::Equal)?;
    budget::compare(table, lines, Likeness::Within(ELSEWHERE))
}

fn measured_with(compiler: &str) -> String {
    format!("Measured with {compiler}.")
}

/// All lines without their last cell.
fn without_reference(table: &str) -> String {
    let cut = |line: &str| {
        line.trim_end_matches('|').rsplit_once('|').map_or(String::new(), |(rest, _)| rest.to_owned() + "\n")
    };
    table.lines().map(cut).collect()
}

fn lines(sheets: &[Sheet]) -> Result<String, String> {
    let names = TARGETS.map(|target| target.name).join(" | ");
    let head = format!(
        "| | budget | {names} | reference, {JUDGED} |\n|---|---|{}\n",
        "---|".repeat(TARGETS.len() + 1)
    );
    LINES.iter().try_fold(head, |table, line| Ok(table + &row(line, &line.rows(sheets)?)))
}

fn row(line: &Line, rows: &[Row]) -> String {
    let judged = TARGETS.iter().zip(rows).find(|(target, _)| target.name == JUDGED).map(|(_, row)| row);
    let unit = judged.map_or("", |row| row.unit);
    let limit = line.limit.map_or("–".to_owned(), |limit: Limit| limit.sign(unit));
    let reference = judged.map_or("–".to_owned(), |row| line.shown_reference(row));
    let cells: Vec<String> = rows.iter().map(Row::shown).collect();
    format!("| {} | {limit} | {} | {reference} |\n", line.what, cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "| | budget | a | reference |\n|---|---|---|---|\n| flash | ≤ 6,144 B | 5,000 B | 53,016 B |\n";

    fn judge(now: &str, compiler: &str) -> Result<(), String> {
        stale(&format!("{TABLE}\nMeasured with rustc 1."), now, compiler)
    }

    #[test]
    fn the_same_compiler_makes_the_same_figures() {
        assert_eq!(judge(TABLE, "rustc 1"), Ok(()));
        assert!(judge(&TABLE.replace("5,000", "5,004"), "rustc 1").is_err());
        assert_eq!(judge(&TABLE.replace("53,016", "53,100"), "rustc 1"), Ok(()));
        assert!(judge(&TABLE.replace("53,016", "63,016"), "rustc 1").is_err());
    }

    #[test]
    fn another_compiler_may_make_others() {
        assert_eq!(judge(&TABLE.replace("5,000", "5,404"), "rustc 2"), Ok(()));
        assert!(judge(&TABLE.replace("5,000", "6,004"), "rustc 2").is_err());
        assert!(judge(&TABLE.replace("flash", "RAM"), "rustc 2").is_err());
    }
}
