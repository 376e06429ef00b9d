//! The limits that are written down, and how a count is judged by them.

use super::{Count, Place, desktop};
use crate::budget::{Likeness, Limit, Row};
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
# `cargo xtask test counts` fails when a path takes 2 % more; 25 % where another compiler has made the programs.
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

    /// With the counts of these places, which are all that there are on this machine. Those of another machine keep theirs.
    pub fn blessed(self, places: &[Place]) -> Self {
        let kept = self.0.into_iter().filter(|old| is_elsewhere(old, places));
        let new = places.iter().map(|place| Place {
            name: place.name.clone(),
            compiler: place.compiler.clone(),
            unit: place.unit,
            counts: place.counts.clone(),
        });
        Self(new.chain(kept).collect())
    }

    /// All places of this machine, and those of the limits that it should have.
    pub fn judge_all(&self, counted: &[Place]) -> Vec<Judged> {
        let is_gone = |old: &&Place| !is_elsewhere(old, counted) && named(counted, &old.name).is_none();
        let gone = self.0.iter().filter(is_gone).map(|old| Judged {
            faults: vec!["it has limits, but is not counted; bless them".to_owned()],
            ..Judged::new(old)
        });
        counted.iter().map(|place| self.judge(place)).chain(gone).collect()
    }

    pub fn judge(&self, counted: &Place) -> Judged {
        let mut judged = Judged::new(counted);
        match named(&self.0, &counted.name) {
            Some(limits) => judged.compare(counted, limits),
            None => {
                judged.rows =
                    counted.counts.iter().map(|count| judged.row(count, counted.unit, None)).collect();
                if is_elsewhere(counted, &self.0) {
                    judged.notes.push(format!("{}: counted, but there are no limits for it", counted.name));
                } else {
                    judged.faults.push("there are no limits; bless them".to_owned());
                }
            }
        }
        judged
    }

    /// Whether there are limits for this place.
    pub fn knows(&self, counted: &Place) -> bool {
        named(&self.0, &counted.name).is_some()
    }

    /// How much the counts of a place may differ from those that a page shows.
    pub fn likeness(&self, counted: &Place) -> Likeness {
        let percent =
            named(&self.0, &counted.name).map_or(OTHER_COMPILER, |limits| tolerance(counted, limits));
        Likeness::Within(percent as f64 / 100.0)
    }
}

fn named<'p>(places: &'p [Place], name: &str) -> Option<&'p Place> {
    places.iter().find(|place| place.name == name)
}

/// Whether a place is a desktop of another architecture than any of these. Boards are emulated, on every machine.
fn is_elsewhere(place: &Place, others: &[Place]) -> bool {
    let architecture = desktop::architecture(&place.name);
    architecture.is_some() && others.iter().all(|other| desktop::architecture(&other.name) != architecture)
}

fn tolerance(counted: &Place, limits: &Place) -> u64 {
    if counted.compiler == limits.compiler { TOLERANCE } else { OTHER_COMPILER }
}

impl Judged {
    fn new(place: &Place) -> Self {
        Self { place: place.name.clone(), rows: Vec::new(), faults: Vec::new(), notes: Vec::new() }
    }

    fn compare(&mut self, counted: &Place, limits: &Place) {
        let percent = tolerance(counted, limits);
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

    fn place_of(name: &str) -> Place {
        Place { name: name.to_owned(), ..place("rustc 1", &[("check", 1)]) }
    }

    fn names(limits: &Limits) -> Vec<&str> {
        limits.0.iter().map(|place| place.name.as_str()).collect()
    }

    #[test]
    fn what_was_counted_is_blessed_and_another_machine_keeps_its_own() {
        let limits =
            Limits(["desktop, x86_64", "heap, x86_64", "desktop, s390x", "virt"].map(place_of).into());
        let counted = ["desktop, x86_64", "heap, x86_64", "mps2"].map(place_of);
        let blessed = limits.blessed(&counted);
        assert_eq!(names(&blessed), ["desktop, x86_64", "heap, x86_64", "mps2", "desktop, s390x"]);
        let again = Place { compiler: "rustc 2".to_owned(), ..place_of("desktop, x86_64") };
        let blessed = blessed.blessed(&[again]);
        assert_eq!(names(&blessed), ["desktop, x86_64", "desktop, s390x"]);
        assert_eq!(blessed.0[0].compiler, "rustc 2");
    }

    /// The places that have faults, and whether there are notes of places without limits.
    fn faults(limits: &[&str], counted: &[&str]) -> (Vec<String>, bool) {
        let [limits, counted] =
            [limits, counted].map(|names| names.iter().map(|name| place_of(name)).collect::<Vec<_>>());
        let judged = Limits(limits).judge_all(&counted);
        let noted = judged.iter().flat_map(|judged| &judged.notes).any(|note| note.contains("no limits"));
        let faulty = judged.into_iter().filter(|judged| !judged.faults.is_empty());
        (faulty.map(|judged| format!("{}: {}", judged.place, judged.faults.join(", "))).collect(), noted)
    }

    #[test]
    fn a_place_without_limits_is_a_fault_but_on_another_desktop() {
        let fault = |name| (vec![format!("{name}: there are no limits; bless them")], false);
        let limits = ["desktop, x86_64", "virt"];
        assert_eq!(faults(&limits, &limits), (Vec::new(), false));
        assert_eq!(faults(&limits, &["desktop, x86_64", "virt", "mps2"]), fault("mps2"));
        assert_eq!(faults(&limits, &["desktop, x86_64", "heap, x86_64", "virt"]), fault("heap, x86_64"));
        assert_eq!(faults(&limits, &["desktop, s390x", "virt"]), (Vec::new(), true));
    }

    #[test]
    fn limits_of_a_place_that_is_not_counted_are_a_fault_but_of_another_desktop() {
        let fault = |name| (vec![format!("{name}: it has limits, but is not counted; bless them")], false);
        let limits = ["desktop, x86_64", "heap, x86_64", "virt"];
        assert_eq!(faults(&limits, &["desktop, x86_64", "heap, x86_64"]), fault("virt"));
        assert_eq!(faults(&limits, &["desktop, x86_64", "virt"]), fault("heap, x86_64"));
        // Where nothing of a desktop is counted.
        assert_eq!(faults(&limits, &["virt"]), (Vec::new(), false));
        let two = ["desktop, x86_64", "desktop, s390x", "virt"];
        assert_eq!(faults(&two, &["desktop, x86_64", "virt"]), (Vec::new(), false));
    }

    #[test]
    fn a_page_may_differ_by_what_the_limits_allow() {
        let likeness = |compiler| limits().likeness(&place(compiler, &[]));
        assert_eq!(
            [likeness("rustc 1"), likeness("rustc 2")],
            [Likeness::Within(0.02), Likeness::Within(0.25)]
        );
    }
}
