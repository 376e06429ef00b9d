//! `benches/limits.toml`: what figures may be, and what was counted last.

use super::firmware::{LEVELS, TARGETS};
use super::row::{Limit, Row};
use crate::workspace;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// How much more than it did a path may take, in percent.
const TOLERANCE: u64 = 2;
/// The same where another compiler has made the program than the one that the counts are of.
const OTHER_COMPILER: u64 = 25;

/// The contender that we are to be faster than.
pub const REFERENCE: &str = "reference";

/// Where the part begins that is written by a command.
const COUNTED: &str = "# What was counted last:";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub firmware: Vec<Line>,
    pub speed: Vec<Ratio>,
    #[serde(default)]
    counted: BTreeMap<String, Counted>,
}

/// A line of the tables of firmware: one figure of each target, the largest of some levels.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    pub what: String,
    /// The table of the page that shows it.
    pub table: String,
    /// By its name in `firmware/sheet.rs`.
    pub figure: String,
    /// All of them where there is none.
    #[serde(default)]
    pub levels: Vec<String>,
    pub at_most: Option<f64>,
    /// Targets that have a limit of their own.
    #[serde(default)]
    pub at_most_on: BTreeMap<String, f64>,
    /// The targets that the limit is of; all where there is none.
    #[serde(default)]
    pub on: Vec<String>,
    /// The targets whose figures are not within the limit yet.
    #[serde(default)]
    pub unmet: Vec<String>,
    #[serde(default)]
    pub unit: String,
    /// The same figure of the reference, or words where it has none.
    pub reference: Option<String>,
    pub reference_says: Option<String>,
    /// The same figure of the first version.
    pub first: Option<f64>,
    /// What pages say of the limit, by their paths: `{}` becomes the limit with its unit, `{n}` the bare number.
    #[serde(default)]
    pub promises: BTreeMap<String, String>,
    /// Whether the guide's page of costs shows it, too.
    #[serde(default)]
    pub costs: bool,
    /// The name under which the readme shows it, too.
    pub readme: Option<String>,
    /// Whether a quick measurement leaves it out.
    #[serde(default)]
    pub deep: bool,
}

impl Line {
    /// What is wrong with a name in it.
    fn slip(&self) -> Option<String> {
        let unknown = |names: &[String], known: &[&str], what| {
            let name = names.iter().find(|name| !known.contains(&name.as_str()))?;
            Some(format!("\"{}\": there is no {what} \"{name}\"; there are {}", self.what, known.join(", ")))
        };
        let targets = TARGETS.map(|target| target.name);
        unknown(std::slice::from_ref(&self.table), &["job", "paths"], "table")
            .or_else(|| unknown(&self.levels, &LEVELS, "level"))
            .or_else(|| unknown(&self.on, &targets, "target"))
            .or_else(|| unknown(&self.at_most_on.keys().cloned().collect::<Vec<_>>(), &targets, "target"))
            .or_else(|| unknown(&self.unmet, &targets, "target"))
    }
}

/// A ratio of two times, of the worst of some cases.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    pub what: String,
    /// The contender: beside `reference` it is a gain, beside a floor how many times as long we take.
    pub beside: String,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    pub cases: Vec<String>,
}

impl Ratio {
    pub fn limit(&self) -> Option<Limit> {
        self.at_least.map(Limit::AtLeast).or(self.at_most.map(Limit::AtMost))
    }
}

#[derive(Clone, Deserialize)]
struct Counted {
    compiler: String,
    counts: Vec<(String, u64)>,
}

/// Paths that were taken on one machine, with programs of one compiler.
#[derive(Clone)]
pub struct Place {
    /// Such as `Cortex-M3, s`.
    pub name: String,
    pub compiler: String,
    pub unit: &'static str,
    /// Each path, and how much it took.
    pub counts: Vec<(String, u64)>,
}

/// The paths of some places with their limits.
#[derive(Default)]
pub struct Judged {
    pub rows: Vec<Row>,
    /// What is wrong with the limits.
    pub faults: Vec<String>,
    /// What is worth a line.
    pub notes: Vec<String>,
}

fn file() -> PathBuf {
    workspace::root().join("benches/limits.toml")
}

impl Limits {
    pub fn read() -> Result<Self, String> {
        Self::parse(&workspace::text(&file())?)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let limits: Self = toml::from_str(text).map_err(|error| format!("benches/limits.toml: {error}"))?;
        let does_not_fit = |ratio: &&Ratio| {
            ratio.at_least.is_some() && (ratio.at_most.is_some() || ratio.beside != REFERENCE)
        };
        if let Some(sentence) = limits.firmware.iter().find_map(Line::slip) {
            return Err(format!("benches/limits.toml: {sentence}"));
        }
        match limits.speed.iter().find(does_not_fit) {
            None => Ok(limits),
            Some(ratio) => Err(format!(
                "benches/limits.toml: \"{}\" has a limit that does not fit what it is beside",
                ratio.what
            )),
        }
    }

    /// Where something was counted.
    #[cfg(test)]
    pub fn places(&self) -> impl Iterator<Item = &String> {
        self.counted.keys()
    }

    /// Whether anything was counted on a desktop of this architecture.
    pub fn know(&self, architecture: &str) -> bool {
        self.counted.keys().any(|place| place.ends_with(&format!(", {architecture}")))
    }

    /// Whether what was counted last there was made by the same compiler.
    pub fn has_compiler_of(&self, place: &Place) -> bool {
        self.counted.get(&place.name).is_some_and(|counted| counted.compiler == place.compiler)
    }

    pub fn judge(&self, places: &[Place]) -> Judged {
        let mut judged = Judged::default();
        places.iter().for_each(|place| judged.add(place, self.counted.get(&place.name)));
        judged
    }
}

/// What was counted becomes what may be counted. Places of other machines keep theirs.
pub fn bless(places: &[Place]) -> Result<(), String> {
    workspace::write(&file(), blessed(&workspace::text(&file())?, places)?.as_bytes())
}

fn blessed(text: &str, places: &[Place]) -> Result<String, String> {
    let mut counted = Limits::parse(text)?.counted;
    for Place { name, compiler, counts, .. } in places {
        let (compiler, counts) = (compiler.clone(), counts.clone());
        counted.insert(name.clone(), Counted { compiler, counts });
    }
    let (head, _) =
        text.split_once(COUNTED).ok_or("benches/limits.toml: nothing says what was counted last")?;
    let mut text = format!("{head}{COUNTED} written by `cargo xtask measure --bless`.\n");
    for (name, Counted { compiler, counts }) in counted {
        let _ = writeln!(text, "\n[counted.\"{name}\"]\ncompiler = \"{compiler}\"\ncounts = [");
        counts.iter().for_each(|(path, number)| {
            let _ = writeln!(text, "    [\"{path}\", {number}],");
        });
        text += "]\n";
    }
    Ok(text)
}

impl Judged {
    fn add(&mut self, place: &Place, blessed: Option<&Counted>) {
        let name = &place.name;
        let known = blessed.map_or(&[][..], |blessed| &blessed.counts);
        let limit = |path: &str| known.iter().find(|(known, _)| known == path).map(|(_, number)| *number);
        let same = blessed.is_some_and(|blessed| blessed.compiler == place.compiler);
        let percent = if same { TOLERANCE } else { OTHER_COMPILER };
        for (path, number) in &place.counts {
            let limit = limit(path).map(|limit| Limit::AtMost((limit * (100 + percent) / 100) as f64));
            let (what, unit) = (format!("{name}: {path}"), place.unit.to_owned());
            self.rows.push(Row { what, limit, ours: *number as f64, unit, ..Row::default() });
            if limit.is_none() {
                self.faults.push(format!("{name}: {path}: nothing says what it may take; --bless does"));
            }
        }
        let is_counted = |path: &str| place.counts.iter().any(|(counted, _)| counted == path);
        let gone = known.iter().filter(|(path, _)| !is_counted(path));
        self.faults.extend(gone.map(|(path, _)| format!("{name}: {path}: has a limit, but is not counted")));
        let lower = place.counts.iter().filter(|(path, number)| {
            limit(path).is_some_and(|limit| number * 100 < limit * (100 - TOLERANCE))
        });
        self.notes.push(format!("{name}: {} counted{}", place.counts.len(), note(same, lower.count())));
    }
}

fn note(is_same_compiler: bool, lower: usize) -> String {
    match lower {
        _ if !is_same_compiler => {
            format!("; another compiler made the limits: {OTHER_COMPILER} % more are allowed")
        }
        0 => String::new(),
        _ => format!(
            "; {lower} take over {TOLERANCE} % less than they did: `cargo xtask measure --bless` keeps them there"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "firmware = []\nspeed = []\n\n# What was counted last: written by `cargo xtask measure --bless`.\n\n\
        [counted.\"heap, s390x\"]\ncompiler = \"rustc 1\"\ncounts = [\n    [\"check\", 5],\n]\n\n\
        [counted.\"heap, x86_64\"]\ncompiler = \"rustc 1\"\ncounts = [\n    [\"check\", 10000],\n    [\"find 1, whole\", 5000],\n]\n";

    fn judge(compiler: &str, counts: &[(&str, u64)]) -> Judged {
        Limits::parse(TEXT).unwrap().judge(&[place(compiler, counts)])
    }

    fn place(compiler: &str, counts: &[(&str, u64)]) -> Place {
        let counts = counts.iter().map(|(path, number)| ((*path).to_owned(), *number)).collect();
        Place { name: "heap, x86_64".to_owned(), compiler: compiler.to_owned(), unit: "", counts }
    }

    fn over(judged: &Judged) -> usize {
        judged.rows.iter().filter(|row| row.judge().is_err()).count()
    }

    #[test]
    fn two_percent_more_are_allowed_and_no_more() {
        let judge = |check, find| judge("rustc 1", &[("check", check), ("find 1, whole", find)]);
        assert_eq!(
            [over(&judge(10_200, 5100)), over(&judge(10_201, 5100)), over(&judge(10_201, 5101))],
            [0, 1, 2]
        );
        let kept = judge(10_000, 4900);
        assert!(kept.faults.is_empty() && !kept.notes[0].contains("--bless"), "{:?}", kept.notes);
        assert!(judge(10_000, 4899).notes[0].contains("1 take over 2 % less"));
    }

    #[test]
    fn another_compiler_may_take_more_and_that_is_said() {
        let judged = |check| judge("rustc 2", &[("check", check), ("find 1, whole", 1)]);
        assert_eq!((over(&judged(12_500)), over(&judged(12_501))), (0, 1));
        assert!(judged(1).notes[0].contains("25 % more are allowed"));
    }

    #[test]
    fn a_path_without_a_limit_and_a_limit_without_a_path_are_faults() {
        let faults = judge("rustc 1", &[("check", 1), ("new", 1)]).faults;
        assert!(
            faults[0].contains("new: nothing says") && faults[1].contains("find 1, whole: has a limit"),
            "{faults:?}"
        );
    }

    #[test]
    fn what_was_counted_is_blessed_and_another_machine_keeps_its_own() {
        assert_eq!(blessed(TEXT, &[]).unwrap(), TEXT);
        let again = blessed(TEXT, &[place("rustc 2", &[("check", 7)])]).unwrap();
        assert!(
            again.contains("s390x")
                && again.ends_with("compiler = \"rustc 2\"\ncounts = [\n    [\"check\", 7],\n]\n")
        );
    }

    #[test]
    fn every_line_is_named_once() {
        let limits = Limits::read().unwrap();
        let ratios = limits.speed.iter().map(|ratio| &ratio.what);
        let names: Vec<&String> = limits.firmware.iter().map(|line| &line.what).chain(ratios).collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| other == &name).count(), 1, "{name}");
        }
    }

    #[test]
    fn a_slip_in_a_name_switches_no_limit_off() {
        let text = workspace::text(&file()).unwrap();
        for (name, slip) in [
            ("table = \"job\"", "table = \"jobs\""),
            ("levels = [\"s\"]", "levels = [\"S\"]"),
            ("on = [\"Cortex-M3\"]", "on = [\"Cortex-M4\"]"),
            ("unmet = [\"Cortex-M0+\"", "unmet = [\"Cortex-M0\""),
        ] {
            let slipped = text.replacen(name, slip, 1);
            assert_ne!(slipped, text, "{name}");
            let sentence = Limits::parse(&slipped).map(drop).unwrap_err();
            assert!(sentence.contains("there is no") && sentence.contains("there are"), "{sentence}");
        }
    }

    #[test]
    fn a_limit_fits_what_it_is_beside() {
        let ratio = |limit| {
            TEXT.replace(
                "speed = []",
                &format!("speed = [{{ what = 'w', beside = 'copy', cases = [], {limit} }}]"),
            )
        };
        assert!(
            Limits::parse(&ratio("at_most = 1")).is_ok() && Limits::parse(&ratio("at_least = 1")).is_err()
        );
    }
}
