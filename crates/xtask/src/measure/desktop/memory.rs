//! The peak memory of programs, as their tests in `host/tests` measure and limit it.

use crate::measure::row::{Limit, Row};
use crate::process::everything;
use crate::toolchain::own_cargo;

/// These tests measure the memory of programs, and fail above the limits.
const TESTS: [&str; 2] = ["stream_memory", "memory"];

/// The rows that the page of costs shows.
const SHOWN: [&str; 5] = [
    "safetensors hash --tensors, a file of 3 GiB, heap and stacks",
    "Model, 256 MiB streamed, above an empty program",
    "Model, 6 GiB streamed, above an empty program",
    "Model, 100,000 tensors, all streamed, above an empty program",
    "FileModel, 100,000 tensors, all streamed, above an empty program",
];

/// The number of rows measured, so that a lost one is noticed.
const ROWS: usize = 16;

pub fn measure() -> Result<Vec<Row>, String> {
    let tests = TESTS.iter().flat_map(|test| ["--test", test]);
    let run = own_cargo().args(["test", "--release", "--package", "safetensors-host"]).args(tests);
    let run = run.args(["--", "streams"]);
    let rows: Vec<Row> = everything(&run.capture()?).lines().filter_map(row).collect();
    let lost = SHOWN.iter().find(|shown| rows.iter().all(|row| row.what != **shown));
    match lost {
        None if rows.len() == ROWS => Ok(rows),
        None => Err(format!("{} programs measured, {ROWS} expected", rows.len())),
        Some(lost) => Err(format!("\"{lost}\" was not measured")),
    }
}

/// Selects the rows that the page of costs shows.
pub fn shown(rows: &[Row]) -> Vec<Row> {
    rows.iter().filter(|row| SHOWN.contains(&&*row.what)).cloned().collect()
}

/// Parses a line such as `what: 592 KiB of at most 2048 KiB; the reference 9000 KiB, 2.5ms`, or `what: 592
/// KiB` without a limit.
fn row(line: &str) -> Option<Row> {
    let (what, figures) = line.rsplit_once(": ")?;
    let (figures, reference) = split(figures.split(", ").next()?, "; the reference ");
    let (ours, limit) = split(figures, " of at most ");
    let (limit, reference) = (optional(limit)?.map(Limit::AtMost), optional(reference)?);
    let (what, unit) = (what.to_owned(), "KiB".to_owned());
    Some(Row { what, limit, ours: kibibytes(ours)?, unit, reference, unmet: false })
}

/// Splits at the words, if the text contains them.
fn split<'t>(text: &'t str, words: &str) -> (&'t str, Option<&'t str>) {
    text.split_once(words).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn optional(text: Option<&str>) -> Option<Option<f64>> {
    text.map_or(Some(None), |text| kibibytes(text).map(Some))
}

fn kibibytes(text: &str) -> Option<f64> {
    text.strip_suffix(" KiB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_parsed_from_lines() {
        let judged = row("hash, above: 1332 KiB of at most 2048 KiB, 5.0s").expect("a row");
        assert_eq!(judged.sentence(), "hash, above: 1,332 KiB, ≤ 2,048 KiB");
        let beside = row("hash: 5 KiB of at most 8 KiB; the reference 99 KiB, 5.0s").expect("a row");
        assert_eq!(beside.sentence(), "hash: 5 KiB, ≤ 8 KiB; the reference 99 KiB");
        let unlimited = row("an empty program: 1800 KiB").expect("a row");
        assert_eq!((unlimited.ours, unlimited.limit), (1800.0, None));
        for line in [
            "test result: ok. 1 passed",
            "",
            "a: b KiB",
            "a: 5 KiB of at most some KiB",
            "a: 5 KiB of at most 8 KiB; the reference more, 5.0s",
            "a: 5 s",
        ] {
            assert!(row(line).is_none(), "{line}");
        }
    }
}
