//! The results as a page for a browser: the template of the vectors, with the scores of one reader as its
//! data.

use crate::conform::Unusable;
use crate::conform::choice::Set;
use crate::conform::store::{Store, packed};
use crate::conform::summary::{Asked, cut};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};
use vectors::{Ours, Score, Vector};

/// The template, and the place of its data.
const TEMPLATE: &str = "page.html";
const BEFORE_DATA: &str = "<script type=\"application/json\" id=\"data\">";
const AFTER_DATA: &str = "</script>";

/// The number of bytes of a file that are shown.
const SHOWN: usize = 512;

/// Returns the page.
pub fn page(asked: &Asked<'_>, store: &Store, scores: &[Score<'_>]) -> Result<String, Unusable> {
    let data = data(asked, store, scores)?.to_string();
    // `<` begins a tag even inside the script; in JSON it occurs only in strings.
    let data = data.replace('<', "\\u003c");
    let template = packed(TEMPLATE).map_err(Unusable::Vectors)?;
    let template = str::from_utf8(template).map_err(|error| Unusable::Vectors(error.to_string()))?;
    let (before, after) = template.split_once(BEFORE_DATA).unwrap_or((template, AFTER_DATA));
    let after = after.find(AFTER_DATA).map_or("", |at| &after[at..]);
    Ok([before, BEFORE_DATA, &data, after].concat())
}

fn data(asked: &Asked<'_>, store: &Store, scores: &[Score<'_>]) -> Result<Value, Unusable> {
    let manifest = asked.manifest;
    let rules: Map<String, Value> = manifest
        .rules
        .iter()
        .map(|(id, rule)| (id.clone(), json!({"source": rule.source, "rule": rule.rule})))
        .collect();
    let vectors: Result<Vec<Value>, _> = scores.iter().map(|score| row(store, score)).collect();
    Ok(json!({
        "suite": manifest.suite,
        "date": today(),
        "rules": rules,
        "flags": manifest.flags,
        "readers": [reader(asked)],
        "vectors": vectors?,
    }))
}

fn reader(asked: &Asked<'_>) -> Value {
    let how = match (asked.is_batch, asked.strict) {
        (true, false) => "one process for all files",
        (true, true) => "one process for all files, strictly",
        (false, false) => "one process for each file",
        (false, true) => "one process for each file, strictly",
    };
    let kind = if asked.level == Set::HeaderOnly { "header-only" } else { "full" };
    json!({
        "name": asked.command.join(" "),
        "version": "",
        "kind": kind,
        "date": today(),
        "how": format!("safetensors conform --level {}: {how}", asked.level),
    })
}

/// The day in UTC, or that of `SOURCE_DATE_EPOCH`, by which a page can be made again.
fn today() -> String {
    let set = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    day(set.unwrap_or_else(now))
}

/// The day of a time in seconds since 1970. Years begin in March here, so that a leap day is the last one.
fn day(seconds: u64) -> String {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = seconds / 86_400 + 719_468; // since March of the year 0
    let (age, rest) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (rest - rest / 1460 + rest / 36_524 - rest / 146_096) / 365;
    let rest = rest - (365 * year + year / 4 - year / 100);
    let month = (5 * rest + 2) / 153;
    let (year, day) = (400 * age + year + month / 10, rest - (153 * month + 2) / 5 + 1);
    format!("{year:04}-{:02}-{day:02}", (month + 2) % 12 + 1)
}

fn row(store: &Store, score: &Score<'_>) -> Result<Value, Unusable> {
    let vector = score.vector;
    Ok(json!({
        "id": vector.id,
        "file": vector.file,
        "verdict": vector.verdict.word(),
        "published": vector.published.map(Ours::word),
        "source": vector.source,
        "ours": vector.ours.word(),
        "rule": vector.rule,
        "reason": vector.reason,
        "flags": vector.flags,
        "level": vector.level,
        "code": vector.code,
        "at": vector.at,
        "length": vector.length,
        "hex": start(store, vector)?,
        "twin": vector.twin,
        "twin_differs": vector.twin_differs,
        "answers": [score.kind.word()],
        "texts": [score.problem.as_deref().map(cut)],
    }))
}

/// The first bytes of a file in hexadecimal; None if the file is never in memory.
fn start(store: &Store, vector: &Vector) -> Result<Option<String>, Unusable> {
    if !vector.fits_memory() {
        return Ok(None);
    }
    let mut hex = String::new();
    for byte in store.content(vector)?.iter().take(SHOWN) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    Ok(Some(hex))
}

#[cfg(test)]
mod tests {
    use super::{AFTER_DATA, BEFORE_DATA, TEMPLATE, day, packed};

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_704_067_199, "2023-12-31"),
            (4_107_542_400, "2100-03-01"),
            (u64::MAX, "584554051223-11-09"),
        ] {
            assert_eq!(day(seconds), expected);
        }
    }

    #[test]
    fn the_template_has_one_place_for_its_data() {
        let template = str::from_utf8(packed(TEMPLATE).expect("in the program")).expect("UTF-8");
        assert_eq!(template.matches(BEFORE_DATA).count(), 1);
        assert!(template.ends_with("</html>\n") && template.contains(AFTER_DATA));
    }
}
