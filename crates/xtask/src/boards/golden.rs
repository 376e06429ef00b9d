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

/// Compares the printed lines with the expected ones; the error names the first line that differs.
pub fn compare(expected: &str, printed: &str) -> Result<(), String> {
    let (mut expected, mut printed) = (expected.lines(), printed.lines());
    for number in 1.. {
        let pair = [expected.next(), printed.next()];
        let [expected, printed] = pair.map(|line| line.unwrap_or("(no more lines)"));
        if pair == [None; 2] {
            break;
        }
        if !matches(expected, printed) {
            let what = format!("line {number} of the output differs");
            return Err(format!("{what}\n        expected: {expected}\n        printed:  {printed}"));
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
    let Some((before, (most, after))) =
        expected.split_once("{<=").and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return expected == printed;
    };
    let Some(rest) = printed.strip_prefix(before) else { return false };
    let (number, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    let numbers = [number, most].map(|number| number.parse::<u64>().ok());
    numbers[0].is_some() && numbers[0] <= numbers[1] && matches(after, rest)
}

/// Checks that every golden file belongs to a case, and that every line in a `text` block of
/// `firmware/README.md`, and every error in its tables, is in one of them.
pub fn check_files() -> Result<(), String> {
    let mut said = String::new();
    for board in boards()?.iter().filter(|board| !board.needs_hardware()) {
        for file in workspace::list(&board.folder().join("golden"))? {
            if !board.cases.keys().any(|case| path(board, case) == file) {
                return Err(format!("{} belongs to no case", file.display()));
            }
            said += &workspace::text(&file)?;
        }
    }
    let page = workspace::text(&workspace::root().join("firmware/README.md"))?;
    let blocks = page.split("```").filter_map(|block| block.strip_prefix("text\n")).flat_map(str::lines);
    let errors = page.lines().filter(|line| line.starts_with('|')).flat_map(|line| line.split('`'));
    let mut shown = blocks.chain(errors.filter(|text| text.starts_with("error"))).peekable();
    shown.peek().ok_or("firmware/README.md shows no output of a board")?;
    match shown.find(|shown| !said.lines().any(|line| matches(line, shown))) {
        None => Ok(()),
        Some(line) => Err(format!("firmware/README.md shows a line that no board prints: {line}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{bless, compare};

    #[test]
    fn only_placeholder_numbers_may_differ() {
        const EXPECTED: &str = "board: a\nRAM: {<=8192} of 8192 bytes, {<=28} static\n";
        let says = |words: &str| compare(EXPECTED, &format!("board: a\nRAM: {words} static\n"));
        assert_eq!(says("8192 of 8192 bytes, 28").and(says("7 of 8192 bytes, 0")), Ok(()));
        let wrong =
            ["8193 of 8192 bytes, 28", "8192 of 8192 bytes, 29", " of 8192 bytes, 28", "7 of 8191 bytes, 28"];
        for words in
            wrong.into_iter().chain(["-1 of 8192 bytes, 28", "99999999999999999999999 of 8192 bytes, 28"])
        {
            assert!(says(words).is_err(), "{words}");
        }
        assert!(compare("a\nb\n", "a\n").unwrap_err().contains("expected: b"));
        assert!(compare("a\n", "a\nb\n").unwrap_err().contains("printed:  b"));
        let printed = "new\nRAM: 7 of 8192 bytes, 1 static\n";
        assert_eq!(bless(EXPECTED, printed), "new\nRAM: {<=8192} of 8192 bytes, {<=28} static\n");
        assert_eq!(bless(EXPECTED, &printed.replace(" 1 ", " 99 ")), printed.replace(" 1 ", " 99 "));
    }
}
