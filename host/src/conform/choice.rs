//! Which vectors are asked.

use crate::glob::matches;
use crate::text::quoted;
use clap::ValueEnum;
use std::collections::HashSet;
use std::fmt;
use vectors::manifest::Level;
use vectors::{Manifest, Vector, Verdict};

/// A plain valid file with one tensor, which is always asked: a reader that accepts nothing has no score.
const CONTROL: &str = "entry-object";

/// Sets of vectors.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Set {
    Core,
    Full,
    Large,
    HeaderOnly,
    Lite,
}

impl Set {
    fn contains(self, vector: &Vector) -> bool {
        match self {
            Self::Core => vector.level == Level::Core,
            Self::Full => !vector.is_large(),
            Self::Large => true,
            Self::HeaderOnly => vector.header_only && !vector.is_large(),
            Self::Lite => vector.lite,
        }
    }
}

/// Its word in arguments.
impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}

/// The arguments that choose vectors.
#[derive(clap::Args)]
pub struct Choice {
    /// Which vectors: `core` (rules of the text or of JSON; a reader that breaks one reads wrong data or
    /// corrupts memory), `full`, `large` (also files of more than 1 MiB), `header-only` (for readers that see
    /// no data), or `lite` (the fewest that find most bugs)
    #[arg(long, value_enum, hide_possible_values = true, default_value = "full")]
    pub level: Set,

    /// Only vectors with this id, id glob (`utf8-b*`), area (`utf8`), flag or rule (repeatable)
    #[arg(long, value_name = "X")]
    filter: Vec<String>,

    /// Except vectors with this id, id glob, area, flag or rule (repeatable)
    #[arg(long, value_name = "X")]
    exclude: Vec<String>,
}

impl Choice {
    /// Returns the chosen vectors, and the number of large ones that match but were not chosen.
    pub fn choose<'m>(&self, manifest: &'m Manifest) -> Result<(Vec<&'m Vector>, usize), String> {
        let all = &manifest.vectors;
        let is_unused = |pattern: &&String| !all.iter().any(|vector| has(vector, pattern));
        if let Some(pattern) = self.filter.iter().chain(&self.exclude).find(is_unused) {
            return Err(format!("no vector has the id, the area, the flag or the rule {}", quoted(pattern)));
        }
        let has_any = |vector: &Vector, patterns: &[String]| patterns.iter().any(|one| has(vector, one));
        let selected = all.iter().filter(|vector| self.filter.is_empty() || has_any(vector, &self.filter));
        let (excluded, matching): (Vec<_>, Vec<_>) =
            selected.partition(|vector| has_any(vector, &self.exclude));
        if matching.is_empty() {
            return Err(format!("--exclude leaves none of the {} vectors", excluded.len()));
        }
        let (chosen, others): (Vec<_>, Vec<_>) =
            matching.into_iter().partition(|vector| self.level.contains(vector));
        if chosen.is_empty() {
            let (count, level) = (others.len(), self.level);
            return Err(format!(
                "none of the {count} vectors that match is of the level {level}; see --level"
            ));
        }
        Ok((chosen, if self.level == Set::Full { others.len() } else { 0 }))
    }
}

/// Whether the pattern is the vector's area or rule, one of its flags, or a glob of its id.
fn has(vector: &Vector, pattern: &str) -> bool {
    let mut flags = vector.flags.iter();
    vector.area() == pattern
        || vector.rule == pattern
        || flags.any(|flag| flag == pattern)
        || matches(pattern, &vector.id)
}

/// Returns the chosen vectors, the twins of invalid ones and the control, the valid ones first: a reader that
/// accepts none is not asked more.
pub fn with_control<'m>(manifest: &'m Manifest, chosen: &[&'m Vector]) -> Vec<&'m Vector> {
    let invalid = chosen.iter().filter(|vector| vector.verdict == Verdict::Invalid);
    let twins = invalid.filter_map(|vector| vector.twin.as_deref());
    let ids: HashSet<&str> =
        chosen.iter().map(|vector| vector.id.as_str()).chain(twins).chain([CONTROL]).collect();
    let mut asked: Vec<_> =
        manifest.vectors.iter().filter(|vector| ids.contains(vector.id.as_str())).collect();
    asked.sort_by_key(|vector| vector.verdict != Verdict::Valid);
    asked
}

#[cfg(test)]
mod tests {
    use super::{CONTROL, Choice, Set, with_control};
    use vectors::Manifest;

    fn manifest() -> Manifest {
        let vector = |id: &str, members: &str| {
            format!(r#"{{"id":"{id}","length":0,"sha256":"","reason":"","ours":"accept",{members}}}"#)
        };
        let vectors = [
            vector(
                "a-core",
                r#""verdict":"invalid","level":"core","rule":"r-1","flags":["x"],"twin":"b-full""#,
            ),
            vector(
                "a-large",
                r#""verdict":"valid","level":"large","header_only":true,"rule":"r-2","flags":["y"]"#,
            ),
            vector(
                "b-full",
                r#""verdict":"valid","level":"full","header_only":true,"rule":"r-2","flags":["x","y"]"#,
            ),
            vector(
                "b-lite",
                r#""verdict":"either","level":"full","lite":true,"rule":"r-1","flags":["z"],"twin":"b-full""#,
            ),
            vector(CONTROL, r#""verdict":"valid","level":"large","rule":"r-3","flags":["entry"]"#),
        ];
        let text = format!(r#"{{"flags":{{}},"vectors":[{}]}}"#, vectors.join(","));
        Manifest::parse(text.as_bytes()).expect("a manifest")
    }

    fn chosen(level: Set, filter: &[&str], exclude: &[&str]) -> Result<(String, usize), String> {
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let manifest = manifest();
        let choice = Choice { level, filter: own(filter), exclude: own(exclude) };
        let (vectors, left) = choice.choose(&manifest)?;
        Ok((vectors.iter().map(|vector| vector.id.as_str()).collect::<Vec<_>>().join(" "), left))
    }

    #[test]
    fn levels_are_sets() {
        for (level, expected) in [
            (Set::Core, ("a-core", 0)),
            (Set::Full, ("a-core b-full b-lite", 2)),
            (Set::Large, ("a-core a-large b-full b-lite entry-object", 0)),
            (Set::HeaderOnly, ("b-full", 0)),
            (Set::Lite, ("b-lite", 0)),
        ] {
            let (ids, left) = chosen(level, &[], &[]).expect("some");
            assert_eq!((ids.as_str(), left), expected);
        }
    }

    #[test]
    fn patterns_are_ids_globs_areas_flags_and_rules() {
        for (filter, exclude, expected) in [
            (&["b-full"][..], &[][..], "b-full"),
            (&["a-*"], &[], "a-core a-large"),
            (&["a"], &[], "a-core a-large"),
            (&["y"], &[], "a-large b-full"),
            (&["r-1"], &[], "a-core b-lite"),
            (&["r-1", "y"], &["x"], "a-large b-lite"),
            (&[], &["r-2", "entry"], "a-core b-lite"),
        ] {
            assert_eq!(chosen(Set::Large, filter, exclude).expect("some").0, expected);
        }
        let unused = "no vector has the id, the area, the flag or the rule \"none\"";
        for (level, filter, exclude, why) in [
            (Set::Large, &["none"][..], &[][..], unused),
            (Set::Large, &[], &["none"], unused),
            (Set::Large, &["b"], &["*-full", "z"], "--exclude leaves none of the 2 vectors"),
            (
                Set::Full,
                &["a-large"],
                &[],
                "none of the 1 vectors that match is of the level full; see --level",
            ),
        ] {
            assert_eq!(chosen(level, filter, exclude), Err(why.to_owned()));
        }
    }

    #[test]
    fn twins_and_the_control_are_asked_too_and_valid_files_first() {
        let manifest = manifest();
        for (level, expected) in
            [(Set::Core, "b-full entry-object a-core"), (Set::Lite, "entry-object b-lite")]
        {
            let choice = Choice { level, filter: Vec::new(), exclude: Vec::new() };
            let (chosen, _) = choice.choose(&manifest).expect("some");
            let asked = with_control(&manifest, &chosen);
            let ids: Vec<_> = asked.iter().map(|vector| vector.id.as_str()).collect();
            assert_eq!(ids.join(" "), expected);
        }
    }
}
