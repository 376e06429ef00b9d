//! Reads `benches/limits.toml`: the limits of figures, and the last counts.

use super::firmware::{LEVELS, TARGETS};
use super::row::{Limit, Row};
use crate::workspace;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// How much more than its last count a path may take, in percent.
const TOLERANCE: u64 = 2;
/// The same if another compiler built the program than the one of the last counts.
const OTHER_COMPILER: u64 = 25;

/// The contender that must be slower than this library.
pub const REFERENCE: &str = "reference";

/// The line where the part begins that `--bless` writes.
const COUNTED: &str = "# What was counted last:";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub firmware: Vec<Line>,
    pub speed: Vec<Ratio>,
    pub command: Vec<Most>,
    #[serde(default)]
    counted: BTreeMap<String, Counted>,
}

/// A line of the firmware tables: one figure of each target, the largest of some levels.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    pub what: String,
    /// The table of the page that shows the line.
    pub table: String,
    /// The figure's name in `firmware/sheet.rs`.
    pub figure: String,
    /// The levels; empty for all.
    #[serde(default)]
    pub levels: Vec<String>,
    pub at_most: Option<f64>,
    /// The limits of targets that have their own.
    #[serde(default)]
    pub at_most_on: BTreeMap<String, f64>,
    /// The targets that the limit applies to; empty for all.
    #[serde(default)]
    pub on: Vec<String>,
    /// The targets whose figures are not within the limit yet.
    #[serde(default)]
    pub unmet: Vec<String>,
    #[serde(default)]
    pub unit: String,
    /// The same figure of the reference, or text if it has none.
    pub reference: Option<String>,
    pub reference_says: Option<String>,
    /// The same figure of the first version.
    pub first: Option<f64>,
    /// The sentences in pages that state the limit, by the pages' paths. `{}` stands for the limit with its
    /// unit, `{n}` for the number alone.
    #[serde(default)]
    pub promises: BTreeMap<String, String>,
    /// Whether the guide's page of costs shows the line, too.
    #[serde(default)]
    pub costs: bool,
    /// The name under which the readme shows the line, too.
    pub readme: Option<String>,
    /// Whether a quick measurement leaves the line out.
    #[serde(default)]
    pub deep: bool,
}

impl Line {
    /// Reports an unknown name in the line.
    fn unknown_name(&self) -> Option<String> {
        let unknown = |names: &[String], known: &[&str], what| {
            let name = names.iter().find(|name| !known.contains(&name.as_str()))?;
            Some(format!("\"{}\": unknown {what} \"{name}\"; there are {}", self.what, known.join(", ")))
        };
        let targets = TARGETS.map(|target| target.name);
        unknown(std::slice::from_ref(&self.table), &["job", "paths", "c"], "table")
            .or_else(|| unknown(&self.levels, &LEVELS, "level"))
            .or_else(|| unknown(&self.on, &targets, "target"))
            .or_else(|| unknown(&self.at_most_on.keys().cloned().collect::<Vec<_>>(), &targets, "target"))
            .or_else(|| unknown(&self.unmet, &targets, "target"))
    }
}

/// A limit of a figure of the command.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Most {
    pub what: String,
    pub at_most: f64,
}

/// A ratio of two times, for the worst of some cases.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    pub what: String,
    /// The other contender. For `reference`, the ratio is how many times faster this library is; for a
    /// floor, how many times slower.
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

/// Counts of paths on one target, with programs of one compiler.
#[derive(Clone)]
pub struct Place {
    /// A name such as `Cortex-M3, s`.
    pub name: String,
    pub compiler: String,
    pub unit: &'static str,
    /// Each path with its count.
    pub counts: Vec<(String, u64)>,
}

/// The counted paths with their limits.
#[derive(Default)]
pub struct Judged {
    pub rows: Vec<Row>,
    /// Errors in the limits.
    pub errors: Vec<String>,
    /// Remarks for the summary.
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
        if let Some(sentence) = limits.firmware.iter().find_map(Line::unknown_name) {
            return Err(format!("benches/limits.toml: {sentence}"));
        }
        match limits.speed.iter().find(does_not_fit) {
            None => Ok(limits),
            Some(ratio) => Err(format!(
                "benches/limits.toml: \"{}\" has a limit that its other contender does not allow",
                ratio.what
            )),
        }
    }

    /// Returns the names of all places with counts.
    #[cfg(test)]
    pub fn places(&self) -> impl Iterator<Item = &String> {
        self.counted.keys()
    }

    /// Whether there are counts for a desktop of this architecture.
    pub fn has_counts_for(&self, architecture: &str) -> bool {
        self.counted.keys().any(|place| place.ends_with(&format!(", {architecture}")))
    }

    /// Whether the last counts of this place are of the same compiler.
    pub fn has_compiler_of(&self, place: &Place) -> bool {
        self.counted.get(&place.name).is_some_and(|counted| counted.compiler == place.compiler)
    }

    pub fn judge(&self, places: &[Place]) -> Judged {
        let mut judged = Judged::default();
        places.iter().for_each(|place| judged.add(place, self.counted.get(&place.name)));
        judged
    }
}

/// Makes these counts the limits. Other places keep theirs.
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
        text.split_once(COUNTED).ok_or(format!("benches/limits.toml: there is no line \"{COUNTED}\""))?;
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
                self.errors.push(format!("{name}: {path}: it has no limit; --bless writes one"));
            }
        }
        let is_counted = |path: &str| place.counts.iter().any(|(counted, _)| counted == path);
        let gone = known.iter().filter(|(path, _)| !is_counted(path));
        self.errors
            .extend(gone.map(|(path, _)| format!("{name}: {path}: it has a limit, but is not counted")));
        let lower = place.counts.iter().filter(|(path, number)| {
            limit(path).is_some_and(|limit| number * 100 < limit * (100 - TOLERANCE))
        });
        self.notes.push(format!("{name}: {} counted{}", place.counts.len(), note(same, lower.count())));
    }
}

fn note(is_same_compiler: bool, lower: usize) -> String {
    match lower {
        _ if !is_same_compiler => {
            format!("; the limits are of another compiler, so {OTHER_COMPILER} % more are allowed")
        }
        0 => String::new(),
        _ => format!("; {lower} take over {TOLERANCE} % less than before; --bless lowers their limits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "firmware = []\nspeed = []\ncommand = []\n\n\
        # What was counted last: written by `cargo xtask measure --bless`.\n\n\
        [counted.\"heap, s390x\"]\ncompiler = \"rustc 1\"\ncounts = [\n    [\"check\", 5],\n]\n\n\
        [counted.\"heap, x86_64\"]\ncompiler = \"rustc 1\"\ncounts = [\n    [\"check\", 10000],\n    \
        [\"find 1, whole\", 5000],\n]\n";

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
    fn two_percent_more_are_allowed() {
        let judge = |check, find| judge("rustc 1", &[("check", check), ("find 1, whole", find)]);
        assert_eq!(
            [over(&judge(10_200, 5100)), over(&judge(10_201, 5100)), over(&judge(10_201, 5101))],
            [0, 1, 2]
        );
        let kept = judge(10_000, 4900);
        assert!(kept.errors.is_empty() && !kept.notes[0].contains("--bless"), "{:?}", kept.notes);
        assert!(judge(10_000, 4899).notes[0].contains("1 take over 2 % less"));
    }

    #[test]
    fn another_compiler_may_take_more_with_a_note() {
        let judged = |check| judge("rustc 2", &[("check", check), ("find 1, whole", 1)]);
        assert_eq!((over(&judged(12_500)), over(&judged(12_501))), (0, 1));
        assert!(judged(1).notes[0].contains("25 % more are allowed"));
    }

    #[test]
    fn path_without_limit_and_limit_without_path_are_errors() {
        let errors = judge("rustc 1", &[("check", 1), ("new", 1)]).errors;
        assert!(
            errors[0].contains("new: it has no limit") && errors[1].contains("find 1, whole: it has a limit"),
            "{errors:?}"
        );
    }

    #[test]
    fn blessing_replaces_only_the_counted_places() {
        assert_eq!(blessed(TEXT, &[]).unwrap(), TEXT);
        let again = blessed(TEXT, &[place("rustc 2", &[("check", 7)])]).unwrap();
        assert!(
            again.contains("s390x")
                && again.ends_with("compiler = \"rustc 2\"\ncounts = [\n    [\"check\", 7],\n]\n")
        );
    }

    #[test]
    fn names_of_lines_are_unique() {
        let limits = Limits::read().unwrap();
        let ratios = limits.speed.iter().map(|ratio| &ratio.what);
        let names: Vec<&String> = limits.firmware.iter().map(|line| &line.what).chain(ratios).collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| other == &name).count(), 1, "{name}");
        }
    }

    #[test]
    fn misspelt_names_are_errors() {
        let text = workspace::text(&file()).unwrap();
        for (name, misspelt) in [
            ("table = \"job\"", "table = \"jobs\""),
            ("levels = [\"s\"]", "levels = [\"S\"]"),
            ("on = [\"Cortex-M3\"]", "on = [\"Cortex-M4\"]"),
            ("unmet = [\"Cortex-M0+\"", "unmet = [\"Cortex-M0\""),
        ] {
            let misspelt = text.replacen(name, misspelt, 1);
            assert_ne!(misspelt, text, "{name}");
            let sentence = Limits::parse(&misspelt).map(drop).unwrap_err();
            assert!(sentence.contains("unknown") && sentence.contains("there are"), "{sentence}");
        }
    }

    #[test]
    fn only_the_reference_takes_a_lower_limit() {
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
