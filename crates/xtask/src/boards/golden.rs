//! What a board must say, word by word, in a file that is committed.
//!
//! A number that depends on the compiler is written `{<=8192}` there, and stands for any number up to that one.

use std::fmt::Write;

/// Whether the lines that came are those that are wanted; if not, the first that differs.
pub fn compare(wanted: &str, came: &str) -> Result<(), String> {
    let (mut wanted, mut came) = (wanted.lines(), came.lines());
    for number in 1.. {
        match (wanted.next(), came.next()) {
            (None, None) => break,
            (Some(wanted), Some(came)) if matches(wanted, came) => {}
            (wanted, came) => return Err(difference(number, wanted, came)),
        }
    }
    Ok(())
}

fn difference(number: usize, wanted: Option<&str>, came: Option<&str>) -> String {
    let [wanted, came] = [wanted, came].map(|line| line.unwrap_or("(nothing more)"));
    format!("line {number} of what it says differs\n        wanted: {wanted}\n        came:   {came}")
}

/// What to commit when these lines came: a line that was committed stays, places for numbers and all, where it matches.
pub fn bless(committed: &str, came: &str) -> String {
    let mut blessed = String::new();
    for line in came.lines() {
        let kept = committed.lines().find(|wanted| matches(wanted, line));
        // Writing to a `String` cannot fail.
        let _ = writeln!(blessed, "{}", kept.unwrap_or(line));
    }
    blessed
}

/// Whether this line came where that one is wanted.
pub fn matches(wanted: &str, came: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: &str = "board: a\nRAM: {<=8192} of 8192 bytes, {<=28} static\nexit code 0\n";

    #[test]
    fn numbers_may_be_lower_and_nothing_else_may_differ() {
        let says = |line: &str| compare(WANTED, &format!("board: a\n{line}\nexit code 0\n"));
        assert_eq!(says("RAM: 8192 of 8192 bytes, 28 static"), Ok(()));
        assert_eq!(says("RAM: 7 of 8192 bytes, 0 static"), Ok(()));
        for line in [
            "RAM: 8193 of 8192 bytes, 28 static",
            "RAM: 8192 of 8192 bytes, 29 static",
            "RAM:  of 8192 bytes, 28 static",
            "RAM: -1 of 8192 bytes, 28 static",
            "RAM: 99999999999999999999999 of 8192 bytes, 28 static",
            "RAM: 7 of 8191 bytes, 28 static",
            "RAM: 7 of 8192 bytes, 28 static ",
        ] {
            assert!(says(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_line_too_many_or_too_few_is_shown() {
        let sentence = compare("a\nb\n", "a\n").unwrap_err();
        assert!(sentence.contains("line 2") && sentence.contains("wanted: b"), "{sentence}");
        let sentence = compare("a\n", "a\npanic: why\n").unwrap_err();
        assert!(sentence.contains("came:   panic: why"), "{sentence}");
    }

    #[test]
    fn blessing_keeps_places_for_numbers_that_still_hold() {
        let came = "new\nboard: a\nRAM: 7 of 8192 bytes, 1 static\nexit code 0\n";
        let blessed = bless(WANTED, came);
        assert_eq!(blessed, format!("new\n{WANTED}"));
        assert_eq!(compare(&blessed, came), Ok(()));
        let more = came.replace(", 1 static", ", 99 static");
        assert_eq!(bless(WANTED, &more), more);
    }
}
