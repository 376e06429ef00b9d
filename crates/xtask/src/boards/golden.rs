//! Golden files: the lines that a board must print, word for word, committed in the repository.
//!
//! `{<=8192}` matches any number up to 8192. It is used for numbers that depend on the compiler.

use super::{Board, boards};
use crate::workspace;
use std::path::PathBuf;

/// Returns the path of a case's golden file.
pub fn path(board: &Board, case: &str) -> PathBuf {
    board.folder().join("golden").join(case).with_extension("txt")
}

/// Checks that every committed golden file belongs to a case.
pub fn check_files(board: &Board) -> Result<(), String> {
    let Ok(files) = workspace::list(&board.folder().join("golden")) else { return Ok(()) };
    match files.iter().find(|file| !board.cases.keys().any(|case| path(board, case) == **file)) {
        None => Ok(()),
        Some(file) => Err(format!("{} belongs to no case", file.display())),
    }
}

/// Compares the printed lines with the expected ones; the error names the first line that differs.
pub fn compare(expected: &str, printed: &str) -> Result<(), String> {
    let (mut expected, mut printed) = (expected.lines(), printed.lines());
    for number in 1.. {
        match (expected.next(), printed.next()) {
            (None, None) => break,
            (Some(expected), Some(printed)) if matches(expected, printed) => {}
            (expected, printed) => {
                let [expected, printed] = [expected, printed].map(|line| line.unwrap_or("(no more lines)"));
                return Err(format!(
                    "line {number} of the output differs\n        expected: {expected}\n        printed:  \
                     {printed}"
                ));
            }
        }
    }
    Ok(())
}

/// Returns the new text of a golden file. A committed line that still matches stays, with its placeholders.
pub fn bless(committed: &str, printed: &str) -> String {
    let kept = |line| committed.lines().find(|expected| matches(expected, line)).unwrap_or(line);
    printed.lines().flat_map(|line| [kept(line), "\n"]).collect()
}

/// Whether a printed line matches an expected one.
fn matches(expected: &str, printed: &str) -> bool {
    let Some((before, most, after)) = placeholder(expected) else { return expected == printed };
    let Some(rest) = printed.strip_prefix(before) else { return false };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = rest.split_at(digits);
    number.parse().is_ok_and(|number: u64| number <= most) && matches(after, rest)
}

/// Splits a line at its first placeholder: the text before it, the largest number allowed, the text after
/// it.
fn placeholder(line: &str) -> Option<(&str, u64, &str)> {
    let (before, rest) = line.split_once("{<=")?;
    let (most, after) = rest.split_once('}')?;
    Some((before, most.parse().ok()?, after))
}

/// Checks that every line of output in `firmware/README.md` is in a golden file.
pub fn check_readme() -> Result<(), String> {
    let page = workspace::text(&workspace::root().join("firmware/README.md"))?;
    let mut said = String::new();
    for board in boards()?.iter().filter(|board| !board.needs_hardware()) {
        for file in workspace::list(&board.folder().join("golden"))? {
            said += &workspace::text(&file)?;
        }
    }
    let shown = shown(&page);
    if shown.len() < 3 {
        return Err("firmware/README.md shows no output of a board".to_owned());
    }
    match shown.into_iter().find(|shown| !said.lines().any(|line| matches(line, shown))) {
        None => Ok(()),
        Some(line) => Err(format!("firmware/README.md shows a line that no board prints: {line}")),
    }
}

/// Returns the lines of a page's `text` blocks, and the errors between backticks in its tables.
fn shown(page: &str) -> Vec<&str> {
    let blocks = page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("text\n"));
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let errors =
        rows.flat_map(|line| line.split('`').skip(1).step_by(2)).filter(|text| text.starts_with("error"));
    blocks.flat_map(str::lines).chain(errors).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: &str = "board: a\nRAM: {<=8192} of 8192 bytes, {<=28} static\nexit code 0\n";

    #[test]
    fn only_placeholder_numbers_may_differ() {
        let says = |line: &str| compare(EXPECTED, &format!("board: a\n{line}\nexit code 0\n"));
        assert_eq!(says("RAM: 8192 of 8192 bytes, 28 static"), Ok(()));
        assert_eq!(says("RAM: 7 of 8192 bytes, 0 static"), Ok(()));
        let wrong = [
            "8193 of 8192 bytes, 28",
            "8192 of 8192 bytes, 29",
            " of 8192 bytes, 28",
            "-1 of 8192 bytes, 28",
        ];
        for words in
            wrong.into_iter().chain(["99999999999999999999999 of 8192 bytes, 28", "7 of 8191 bytes, 28"])
        {
            assert!(says(&format!("RAM: {words} static")).is_err(), "{words}");
        }
        assert!(compare("a\nb\n", "a\n").unwrap_err().contains("expected: b"));
        assert!(compare("a\n", "a\npanic: why\n").unwrap_err().contains("printed:  panic: why"));
    }

    #[test]
    fn blessing_keeps_placeholders_that_still_match() {
        let printed = "new\nboard: a\nRAM: 7 of 8192 bytes, 1 static\nexit code 0\n";
        assert_eq!(bless(EXPECTED, printed), format!("new\n{EXPECTED}"));
        let more = printed.replace(", 1 static", ", 99 static");
        assert_eq!(bless(EXPECTED, &more), more);
    }

    #[test]
    fn text_blocks_and_errors_in_tables_are_shown() {
        let page = concat!(
            "```console\n$ a\n```\nb `error: c`\n```text\nd\ne\n```\n",
            "| 1 | `error[f] at byte 1: g` | `panic: …` |\n"
        );
        assert_eq!(shown(page), ["d", "e", "error[f] at byte 1: g"]);
    }
}
