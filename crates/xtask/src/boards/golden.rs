//! What a board must say, word by word, in a file that is committed.
//!
//! A number that depends on the compiler is written `{<=8192}` there, and stands for any number up to that one.

use super::{Board, boards};
use crate::workspace;
use std::path::PathBuf;

/// The file of a case.
pub fn path(board: &Board, case: &str) -> PathBuf {
    board.folder().join("golden").join(case).with_extension("txt")
}

/// Every committed file belongs to a case.
pub fn check_files(board: &Board) -> Result<(), String> {
    let Ok(files) = workspace::list(&board.folder().join("golden")) else { return Ok(()) };
    match files.iter().find(|file| !board.cases.keys().any(|case| path(board, case) == **file)) {
        None => Ok(()),
        Some(file) => Err(format!("{} is of no case", file.display())),
    }
}

/// Whether the lines that came are those that are wanted; if not, the first that differs.
pub fn compare(wanted: &str, came: &str) -> Result<(), String> {
    let (mut wanted, mut came) = (wanted.lines(), came.lines());
    for number in 1.. {
        match (wanted.next(), came.next()) {
            (None, None) => break,
            (Some(wanted), Some(came)) if matches(wanted, came) => {}
            (wanted, came) => {
                let [wanted, came] = [wanted, came].map(|line| line.unwrap_or("(nothing more)"));
                return Err(format!(
                    "line {number} of what it says differs\n        wanted: {wanted}\n        came:   {came}"
                ));
            }
        }
    }
    Ok(())
}

/// What to commit when these lines came: a line that was committed stays, places for numbers and all, where it matches.
pub fn bless(committed: &str, came: &str) -> String {
    let kept = |line| committed.lines().find(|wanted| matches(wanted, line)).unwrap_or(line);
    came.lines().flat_map(|line| [kept(line), "\n"]).collect()
}

/// Whether this line came where that one is wanted.
fn matches(wanted: &str, came: &str) -> bool {
    let Some((before, most, behind)) = place(wanted) else { return wanted == came };
    let Some(rest) = came.strip_prefix(before) else { return false };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = rest.split_at(digits);
    number.parse().is_ok_and(|number: u64| number <= most) && matches(behind, rest)
}

/// What stands before the first place for a number, the most that the number may be, and what stands behind.
fn place(line: &str) -> Option<(&str, u64, &str)> {
    let (before, rest) = line.split_once("{<=")?;
    let (most, behind) = rest.split_once('}')?;
    Some((before, most.parse().ok()?, behind))
}

/// `firmware/README.md` shows only what boards say.
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
        return Err("firmware/README.md shows nothing that a board says".to_owned());
    }
    match shown.into_iter().find(|shown| !said.lines().any(|line| matches(line, shown))) {
        None => Ok(()),
        Some(line) => Err(format!("firmware/README.md shows what no board says: {line}")),
    }
}

/// The lines of its blocks of text, and the errors between backticks.
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

    const WANTED: &str = "board: a\nRAM: {<=8192} of 8192 bytes, {<=28} static\nexit code 0\n";

    #[test]
    fn numbers_may_be_lower_and_nothing_else_may_differ() {
        let says = |line: &str| compare(WANTED, &format!("board: a\n{line}\nexit code 0\n"));
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
        assert!(compare("a\nb\n", "a\n").unwrap_err().contains("wanted: b"));
        assert!(compare("a\n", "a\npanic: why\n").unwrap_err().contains("came:   panic: why"));
    }

    #[test]
    fn blessing_keeps_places_for_numbers_that_still_hold() {
        let came = "new\nboard: a\nRAM: 7 of 8192 bytes, 1 static\nexit code 0\n";
        assert_eq!(bless(WANTED, came), format!("new\n{WANTED}"));
        let more = came.replace(", 1 static", ", 99 static");
        assert_eq!(bless(WANTED, &more), more);
    }

    #[test]
    fn blocks_and_errors_are_shown() {
        let page = "```console\n$ a\n```\nb `error: c`\n```text\nd\ne\n```\n| 1 | `error[f] at byte 1: g` | `panic: …` |\n";
        assert_eq!(shown(page), ["d", "e", "error[f] at byte 1: g"]);
    }
}
