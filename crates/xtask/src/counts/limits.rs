//! The limits that are written down, and how a count is judged by them.

use super::{Count, Place};
use crate::budget::{Limit, Row};
use crate::workspace;
use std::fmt::Write;
use std::path::Path;

/// How much more than its limit a path may take, and how much less makes the limit too wide, in percent.
const TOLERANCE: u64 = 2;
/// The same where another compiler has made the program than the one that the limits are of.
const OTHER_COMPILER: u64 = 25;

/// What is said of a path that takes more.
pub const OVER: &str = "more than benches/counts/limits.txt allows; \
    if they are worth it, `cargo xtask counts --bless` writes the new limits";

const HEAD: &str = "\
# How many instructions the main paths take, and what of the heap, for each machine and compiler: written by `cargo xtask counts --bless`.
# `cargo xtask test counts` fails when a path takes 2 % more.
";

/// What `limits.txt` says: each place with the counts of it that were blessed.
#[derive(Default)]
pub struct Limits(Vec<Place>);

/// The paths of a place with their limits.
pub struct Judged {
    pub place: String,
    /// Each path.
    pub rows: Vec<Row>,
    /// What is wrong with the limits.
    pub faults: Vec<String>,
    /// What is worth a line.
    pub notes: Vec<String>,
}

impl Limits {
    pub fn read(file: &Path) -> Result<Self, String> {
        Self::parse(&String::from_utf8_lossy(&workspace::read(file)?))
    }

    /// A place is a line `[name: compiler]`, and each line below it has a count and a path.
    fn parse(text: &str) -> Result<Self, String> {
        let mut places: Vec<Place> = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let bad = || format!("benches/counts/limits.txt: neither a place nor a count: {line}");
            match line.strip_prefix('[') {
                Some(head) => places.push(place(head).ok_or_else(bad)?),
                None => places.last_mut().ok_or_else(bad)?.counts.push(count(line).ok_or_else(bad)?),
            }
        }
        Ok(Self(places))
    }

    pub fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for Place { name, compiler, counts, .. } in &self.0 {
            let _ = writeln!(text, "\n[{name}: {compiler}]");
            for Count { path, number } in counts {
                let _ = writeln!(text, "{number:>12}  {path}");
            }
        }
        text
    }

    /// With other counts of these places. A place that was not counted, such as another machine, keeps its own.
    pub fn blessed(self, places: &[Place]) -> Self {
        let kept = self.0.into_iter().filter(|old| places.iter().all(|new| new.name != old.name));
        let new = places.iter().map(|place| Place {
            name: place.name.clone(),
            compiler: place.compiler.clone(),
            unit: place.unit,
            counts: place.counts.clone(),
        });
        Self(new.chain(kept).collect())
    }

    pub fn judge(&self, counted: &Place) -> Judged {
        let mut judged =
            Judged { place: counted.name.clone(), rows: Vec::new(), faults: Vec::new(), notes: Vec::new() };
        match self.0.iter().find(|place| place.name == counted.name) {
            Some(limits) => judged.compare(counted, limits),
            None => {
                judged.rows =
                    counted.counts.iter().map(|count| judged.row(count, counted.unit, None)).collect();
                judged.notes.push(format!("{}: counted, but there are no limits for it", counted.name));
            }
        }
        judged
    }
}

impl Judged {
    fn compare(&mut self, counted: &Place, limits: &Place) {
        let is_same = counted.compiler == limits.compiler;
        let percent = if is_same { TOLERANCE } else { OTHER_COMPILER };
        let limit = |path: &str| limits.counts.iter().find(|limit| limit.path == path);
        for count in &counted.counts {
            let limit = limit(&count.path).map(|limit| limit.number);
            self.rows.push(self.row(count, counted.unit, limit.map(|limit| (limit, percent))));
            if limit.is_none() {
                self.faults.push(format!("{}: there is no limit; bless it", count.path));
            }
        }
        let is_counted = |path: &str| counted.counts.iter().any(|count| count.path == path);
        let gone = limits.counts.iter().filter(|limit| !is_counted(&limit.path));
        self.faults.extend(gone.map(|gone| format!("{}: has a limit, but is not counted", gone.path)));
        let lower = counted.counts.iter().filter(|count| {
            limit(&count.path).is_some_and(|limit| count.number * 100 < limit.number * (100 - TOLERANCE))
        });
        let note = note(counted, limits, lower.count());
        self.notes.push(format!("{}: {note}", self.place));
    }

    fn row(&self, count: &Count, unit: &'static str, limit: Option<(u64, u64)>) -> Row {
        let limit = limit.map(|(limit, percent)| Limit::AtMost((limit * (100 + percent) / 100) as f64));
        Row {
            what: format!("{}: {}", self.place, count.path),
            limit,
            ours: count.number as f64,
            unit,
            reference: None,
        }
    }
}

fn note(counted: &Place, limits: &Place, lower: usize) -> String {
    let mut note = format!("{} counted", counted.counts.len());
    if counted.compiler != limits.compiler {
        let (ours, theirs) = (&counted.compiler, &limits.compiler);
        let _ = write!(note, "; made by {ours}, the limits by {theirs}: {OTHER_COMPILER} % more are allowed");
    } else if lower > 0 {
        let _ = write!(
            note,
            "; {lower} take over {TOLERANCE} % less than their limits: `cargo xtask counts --bless` keeps them there"
        );
    }
    note
}

fn place(head: &str) -> Option<Place> {
    let (name, compiler) = head.strip_suffix(']')?.split_once(": ")?;
    Some(Place { name: name.to_owned(), compiler: compiler.to_owned(), unit: "", counts: Vec::new() })
}

fn count(line: &str) -> Option<Count> {
    let (number, path) = line.split_once("  ")?;
    Some(Count { path: path.to_owned(), number: number.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(compiler: &str, counts: &[(&str, u64)]) -> Place {
        let counts = counts.iter().map(|&(path, number)| Count { path: path.to_owned(), number });
        Place {
            name: "desktop".to_owned(),
            compiler: compiler.to_owned(),
            unit: "",
            counts: counts.collect(),
        }
    }

    fn limits() -> Limits {
        Limits(vec![place("rustc 1", &[("check", 10_000), ("find 1, whole", 5000)])])
    }

    fn over(judged: &Judged) -> usize {
        judged.rows.iter().filter(|row| !row.is_kept()).count()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let again = Limits::parse(&limits().text()).expect("it is as written");
        assert_eq!(again.text(), limits().text());
        assert_eq!(again.0[0].counts, limits().0[0].counts);
    }

    #[test]
    fn a_line_that_is_neither_is_an_error() {
        for text in ["5  check", "[desktop]", "[desktop: rustc 1\n", "[a: b]\ncheck  5", "[a: b]\n5 check"] {
            assert!(Limits::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn two_percent_more_are_allowed_and_no_more() {
        let judge =
            |check, find| limits().judge(&place("rustc 1", &[("check", check), ("find 1, whole", find)]));
        assert_eq!(over(&judge(10_200, 5100)), 0);
        assert_eq!(over(&judge(10_201, 5100)), 1);
        assert_eq!(over(&judge(10_201, 5101)), 2);
        let kept = judge(10_000, 4900);
        assert!(kept.faults.is_empty() && !kept.notes[0].contains("--bless"), "{:?}", kept.notes);
        assert!(judge(10_000, 4899).notes[0].contains("1 take over 2 % less"));
    }

    #[test]
    fn another_compiler_may_take_more_and_that_is_said() {
        let judged = |check| limits().judge(&place("rustc 2", &[("check", check), ("find 1, whole", 1)]));
        assert_eq!((over(&judged(12_500)), over(&judged(12_501))), (0, 1));
        assert!(judged(1).notes[0].contains("made by rustc 2, the limits by rustc 1: 25 %"));
    }

    #[test]
    fn a_path_without_a_limit_and_a_limit_without_a_path_are_faults() {
        let judged = limits().judge(&place("rustc 1", &[("check", 1), ("new", 1)]));
        assert_eq!(
            judged.faults,
            ["new: there is no limit; bless it", "find 1, whole: has a limit, but is not counted"]
        );
    }

    #[test]
    fn only_what_was_counted_is_blessed() {
        let other = Place { name: "another machine".to_owned(), ..place("rustc 0", &[("check", 1)]) };
        let blessed = limits().blessed(&[other]).blessed(&[place("rustc 2", &[("check", 7)])]);
        assert_eq!(blessed.0.len(), 2);
        assert_eq!((blessed.0[0].counts[0].number, blessed.0[0].compiler.as_str()), (7, "rustc 2"));
        assert!(limits().judge(&blessed.0[1]).notes[0].contains("no limits"));
    }
}
