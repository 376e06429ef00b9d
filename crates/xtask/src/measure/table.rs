//! Tables in pages: what a command has measured stands between two marks and nowhere else.

use super::Row;
use crate::workspace;
use std::path::Path;

/// How much a table that is written down may differ from the one that was just measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Likeness {
    /// Not at all.
    Equal,
    /// The words may not, each number may by this part of itself.
    Within(f64),
    /// The words may not, each number may by so much.
    By(f64),
}

/// The table of the rows, with its head.
pub fn show(rows: &[Row]) -> String {
    let lines: String = rows.iter().map(Row::line).collect();
    format!("| what | budget | here | reference |\n|---|---|---|---|\n{lines}")
}

/// Writes the table of the rows into the page, a path below the root: see [`write_text`].
pub fn write_table(page: &str, name: &str, rows: &[Row]) -> Result<(), String> {
    write_text(page, name, &show(rows))
}

/// Replaces what stands in the page, a path below the root, between `<!-- table NAME: … -->` and
/// `<!-- end of table NAME -->`, each on a line of its own.
pub fn write_text(page: &str, name: &str, table: &str) -> Result<(), String> {
    let text = read(page)?;
    let (before, _, after) = split(&text, name).map_err(|sentence| format!("{page}: {sentence}"))?;
    workspace::write(&path(page), format!("{before}\n{}\n\n{after}", table.trim_end()).as_bytes())
}

/// What stands there now.
pub fn shown(page: &str, name: &str) -> Result<String, String> {
    let text = read(page)?;
    let (_, shown, _) = split(&text, name).map_err(|sentence| format!("{page}: {sentence}"))?;
    Ok(shown.trim().to_owned())
}

/// An error when the page shows another table than this one.
pub fn check(page: &str, name: &str, table: &str, likeness: Likeness) -> Result<(), String> {
    compare(&shown(page, name)?, table.trim(), likeness)
        .map_err(|sentence| format!("the table {name} in {page} is stale: {sentence}"))
}

/// An error when the tables differ too much.
pub fn compare(shown: &str, due: &str, likeness: Likeness) -> Result<(), String> {
    match difference(shown, due, likeness) {
        None => Ok(()),
        Some((shown, due)) => Err(format!("it says\n  {shown}\nbut now it is\n  {due}")),
    }
}

fn path(page: &str) -> std::path::PathBuf {
    workspace::root().join(Path::new(page))
}

fn read(page: &str) -> Result<String, String> {
    let bytes = workspace::read(&path(page))?;
    String::from_utf8(bytes).map_err(|_| format!("{page} is no text"))
}

/// The page up to the end of the first mark's line, the table, and the page from the second mark on.
fn split<'t>(text: &'t str, name: &str) -> Result<(&'t str, &'t str, &'t str), String> {
    let (begin, end) = (format!("<!-- table {name}:"), format!("<!-- end of table {name} -->"));
    let lacks = |mark: &str| format!("there is no mark \"{mark}\" on a line of its own");
    let at = line_with(text, &begin).ok_or_else(|| lacks(&begin))?;
    let len = text[at..].find('\n').ok_or_else(|| lacks(&end))?;
    let (before, rest) = text.split_at(at + len + 1);
    let (table, after) = rest.split_at(line_with(rest, &end).ok_or_else(|| lacks(&end))?);
    Ok((before, table, after))
}

/// Where the only line begins that begins so.
fn line_with(text: &str, beginning: &str) -> Option<usize> {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let mut found = starts.filter(|&at| text[at..].starts_with(beginning));
    found.next().filter(|_| found.next().is_none())
}

/// The first lines that differ too much.
fn difference<'t>(shown: &'t str, due: &'t str, likeness: Likeness) -> Option<(&'t str, &'t str)> {
    let (mut shown, mut due) = (shown.lines(), due.lines());
    loop {
        match (shown.next(), due.next()) {
            (None, None) => return None,
            (Some(shown), Some(due)) if are_alike(shown, due, likeness) => {}
            (shown, due) => return Some((shown.unwrap_or("(nothing)"), due.unwrap_or("(nothing)"))),
        }
    }
}

fn are_alike(shown: &str, due: &str, likeness: Likeness) -> bool {
    if likeness == Likeness::Equal {
        return shown == due;
    }
    let most = |shown: f64, due: f64| match likeness {
        Likeness::Equal => 0.0,
        Likeness::Within(part) => part * due.abs().max(shown.abs()),
        Likeness::By(most) => most,
    };
    let (shown, due) = (words(shown), words(due));
    let alike = |shown: &str, due: &str| match (figure(shown), figure(due)) {
        (Some(shown), Some(due)) => (shown - due).abs() <= most(shown, due),
        _ => shown == due,
    };
    shown.len() == due.len() && shown.iter().zip(&due).all(|(shown, due)| alike(shown, due))
}

/// Numbers and what stands between them. Whether a budget is unmet may depend on a number: it is none of the words.
fn words(line: &str) -> Vec<&str> {
    let line = line.split(", **unmet**");
    let is_digit = |character: char| character.is_ascii_digit() || [',', '.'].contains(&character);
    line.flat_map(|part| part.split_inclusive(|character| !is_digit(character)))
        .flat_map(|part| part.split_at_checked(part.trim_end_matches(|last| !is_digit(last)).len()))
        .flat_map(|(number, rest)| [number, rest])
        .filter(|word| !word.is_empty())
        .collect()
}

fn figure(word: &str) -> Option<f64> {
    word.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Limit;

    const PAGE: &str = "a\n<!-- table x: written by this -->\n\n| 1 |\n\n<!-- end of table x -->\nb\n";

    #[test]
    fn what_stands_between_the_marks_is_found() {
        let (before, table, after) = split(PAGE, "x").unwrap();
        assert_eq!(before, "a\n<!-- table x: written by this -->\n");
        assert_eq!((table, after), ("\n| 1 |\n\n", "<!-- end of table x -->\nb\n"));
    }

    #[test]
    fn marks_are_there_once_and_both() {
        for page in ["", "a\n<!-- table x: b", "<!-- table x: b -->\n", "<!-- end of table x -->\n"] {
            assert!(split(page, "x").is_err(), "{page}");
        }
        assert!(split(PAGE, "y").unwrap_err().contains("table y:"));
        assert!(split(&[PAGE, PAGE].concat(), "x").is_err());
    }

    #[test]
    fn a_table_has_a_line_for_each_row() {
        let row = Row {
            what: "flash".to_owned(),
            limit: Some(Limit::AtMost(2.0)),
            ours: 1.0,
            unit: "B",
            reference: None,
        };
        let lines = "| what | budget | here | reference |\n|---|---|---|---|\n| flash | ≤ 2 B | 1 B | – |\n";
        assert_eq!(show(&[row]), lines);
    }

    #[test]
    fn equal_tables_are_equal() {
        assert_eq!(difference("a 1\nb 2", "a 1\nb 2", Likeness::Equal), None);
        assert_eq!(difference("a 1\nb 2", "a 1\nb 3", Likeness::Equal), Some(("b 2", "b 3")));
        assert_eq!(difference("a 1", "a 1\nb 3", Likeness::Equal), Some(("(nothing)", "b 3")));
    }

    #[test]
    fn numbers_may_differ_within_a_part_and_words_not() {
        let differs = |shown, due| difference(shown, due, Likeness::Within(0.1)).is_some();
        assert!(!differs("| a | ≤ 6,144 B | 5,000 B |", "| a | ≤ 6,144 B | 5,400 B |"));
        assert!(differs("| a | ≤ 6,144 B | 5,000 B |", "| a | ≤ 6,144 B | 5,600 B |"));
        assert!(differs("| a | 5,000 B |", "| b | 5,000 B |"));
        assert!(differs("| a | 12.5x |", "| a | 12.5 B |"));
        assert!(!differs("| a | 6,150 B, **unmet** |", "| a | 6,140 B |"));
        assert!(!differs("| 0 |", "| 0 |") && differs("| 0 |", "| 1 |"));
    }

    #[test]
    fn numbers_may_differ_by_so_much_and_words_not() {
        let differs = |shown, due| difference(shown, due, Likeness::By(10.0)).is_some();
        assert!(!differs("| a | 0 KiB |", "| a | 10 KiB |") && differs("| a | 0 KiB |", "| a | 11 KiB |"));
        assert!(differs("| a | 0 KiB |", "| b | 0 KiB |") && differs("| a | 0 KiB |", "| a | 0 B |"));
    }
}
