//! Scores answers: whether they match the manifest.

use crate::manifest::{Ours, TensorRow, Vector, Verdict};
use crate::protocol::{Answer, Outcome};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The largest number of characters of a value in a sentence.
const SHOWN: usize = 200;

/// An answer to a vector, and its error if it is wrong.
#[derive(Clone, Debug)]
pub struct Score<'v> {
    /// The vector.
    pub vector: &'v Vector,
    /// The answer, without its table, which may be large.
    pub answer: Answer,
    /// Why the answer is wrong, in a sentence; `None` if it is right.
    pub problem: Option<String>,
    /// Whether the answer omits something that the manifest lists, and that was therefore not compared.
    pub left_out: bool,
}

impl<'v> Score<'v> {
    /// Scores an answer. `strict` requires what this project requires of itself: its own verdict where
    /// readers may differ, the code and the byte of each error, and all that the manifest lists of a table.
    pub fn new(vector: &'v Vector, answer: Answer, strict: bool) -> Self {
        let problem = problem(vector, &answer, strict);
        let left_out = answer.table.as_ref().is_some_and(|table| left_out(vector, table).is_some());
        Self { vector, answer: Answer { table: None, ..answer }, problem, left_out }
    }

    /// Whether the answer is right.
    pub fn is_right(&self) -> bool {
        self.problem.is_none()
    }
}

/// The number of right answers among all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of right answers.
    pub right: usize,
    /// The number of all answers.
    pub all: usize,
}

impl Count {
    /// Counts some scores.
    pub fn of<'s, 'v: 's>(scores: impl IntoIterator<Item = &'s Score<'v>>) -> Self {
        scores.into_iter().fold(Self::default(), Self::with)
    }

    fn with(self, score: &Score<'_>) -> Self {
        Self { right: self.right + usize::from(score.is_right()), all: self.all + 1 }
    }
}

/// Counts the scores in groups with the same word, in the order in which the words first occur.
pub fn grouped<'s, 'v, W: PartialEq>(
    scores: &'s [Score<'v>],
    word: impl Fn(&'s Score<'v>) -> W,
) -> Vec<(W, Count)> {
    let mut groups: Vec<(W, Count)> = Vec::new();
    for score in scores {
        let word = word(score);
        match groups.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count = count.with(score),
            None => groups.push((word, Count::of([score]))),
        }
    }
    groups
}

/// How many errors match the manifest. This is for information only, unless the scores are strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errors {
    /// The rejections of files that this project rejects, too.
    pub all: usize,
    /// The number of them with the manifest's code.
    pub code: usize,
    /// The number of them with the manifest's offset.
    pub at: usize,
}

impl Errors {
    /// Counts the errors among some scores.
    pub fn of(scores: &[Score<'_>]) -> Self {
        let is_error =
            |score: &&Score<'_>| score.answer.outcome == Outcome::Reject && score.vector.ours == Ours::Reject;
        let errors = || scores.iter().filter(is_error);
        Self {
            all: errors().count(),
            code: errors().filter(|score| score.answer.code == score.vector.code).count(),
            at: errors().filter(|score| score.answer.at == score.vector.at).count(),
        }
    }
}

/// Returns why an answer is wrong.
fn problem(vector: &Vector, answer: &Answer, strict: bool) -> Option<String> {
    if answer.outcome == Outcome::Crash {
        return Some(format!("crashed: {}", answer.text));
    }
    let expected = expected(vector, strict)?;
    if answer.outcome != expected {
        let colon = if answer.text.is_empty() { "" } else { ": " };
        return Some(format!(
            "must {}, but did {}{colon}{}",
            expected.word(),
            answer.outcome.word(),
            answer.text
        ));
    }
    match &answer.table {
        Some(table) => table_problem(vector, table).or_else(|| left_out(vector, table).filter(|_| strict)),
        None if strict => error_problem(vector, answer),
        None => None,
    }
}

/// Returns the expected outcome; `None` if both are right.
fn expected(vector: &Vector, strict: bool) -> Option<Outcome> {
    match (vector.verdict, vector.ours) {
        (_, Ours::Accept) if strict => Some(Outcome::Accept),
        (_, Ours::Reject) if strict => Some(Outcome::Reject),
        (Verdict::Valid, _) => Some(Outcome::Accept),
        (Verdict::Invalid, _) => Some(Outcome::Reject),
        (Verdict::Either, _) => None,
    }
}

fn error_problem(vector: &Vector, answer: &Answer) -> Option<String> {
    if (&answer.code, answer.at) == (&vector.code, vector.at) {
        return None;
    }
    let error = |code: &Option<String>, at: Option<u64>| {
        let offset = at.map_or("no byte".to_owned(), |at| format!("byte {at}"));
        code.as_ref().map_or("no code".to_owned(), |code| format!("error[{code}] at {offset}"))
    };
    Some(format!("must say {}, but said {}", error(&vector.code, vector.at), error(&answer.code, answer.at)))
}

/// Returns what is wrong with the tensors or the metadata. Omitted metadata is not compared.
fn table_problem(vector: &Vector, table: &Map<String, Value>) -> Option<String> {
    let tensors = table.get("tensors")?.as_object()?;
    if let Some(count) = vector.tensor_count.filter(|count| *count != tensors.len()) {
        return Some(format!("has {count} tensors, but {} were read", tensors.len()));
    }
    let wrong = vector.tensors.as_ref().and_then(|expected| tensors_problem(expected, tensors));
    wrong.or_else(|| {
        let (expected, found) = (vector.metadata.as_ref()?, table.get("metadata")?);
        let sentence = || format!("the metadata is {}, but {} was read", shown(expected), shown(found));
        (expected != found).then(sentence)
    })
}

/// Returns what the manifest lists and the table omits: offsets or metadata.
fn left_out(vector: &Vector, table: &Map<String, Value>) -> Option<String> {
    let tensors = table.get("tensors")?.as_object()?;
    let has_offsets = tensors.values().all(|tensor| tensor.get("data_offsets").is_some());
    match () {
        () if vector.metadata.is_some() && !table.contains_key("metadata") => {
            Some("leaves out the metadata".to_owned())
        }
        () if vector.tensors.is_some() && !has_offsets => Some("leaves out data_offsets".to_owned()),
        () => None,
    }
}

fn tensors_problem(expected: &[TensorRow], found: &Map<String, Value>) -> Option<String> {
    let rows: BTreeMap<&str, &TensorRow> = expected.iter().map(|row| (row.name.as_str(), row)).collect();
    if rows.len() != found.len() || !rows.keys().all(|name| found.contains_key(*name)) {
        let (expected, found) = (rows.keys().copied().collect(), found.keys().map(String::as_str).collect());
        return Some(format!("the tensors are {}, but {} were read", shown(&expected), shown(&found)));
    }
    rows.iter().find_map(|(name, row)| tensor_problem(name, row, found.get(*name)?))
}

/// Returns what is wrong with a tensor. Omitted members are not compared.
fn tensor_problem(name: &str, row: &TensorRow, tensor: &Value) -> Option<String> {
    // The row as the manifest has it.
    let row = serde_json::to_value(row).ok()?;
    let expected = |member: &String| row.get(member).unwrap_or(&Value::Null);
    let mut members = tensor.as_object()?.iter();
    let (member, value) = members.find(|(member, value)| expected(member) != *value)?;
    let name = shown(&Value::from(name));
    Some(format!("{member} of {name} is {}, but {} was read", shown(expected(member)), shown(value)))
}

/// Formats a value as JSON, shortened if it is extremely long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{Count, Errors, Score, grouped, problem};
    use crate::manifest::{Vector, Verdict};
    use crate::protocol::{Answer, End, Output};

    fn vector(members: &str) -> Vector {
        let fixed = r#""id":"a-b","length":0,"sha256":"","rule":"","reason":"","flags":[]"#;
        serde_json::from_str(&format!("{{{fixed},{members}}}")).expect("a vector")
    }

    fn answer(code: i32, out: &str) -> Answer {
        Answer::of(&Output { end: End::Code(code), stdout: out.into(), stderr: Vec::new() })
    }

    fn wrong(vector: &Vector, code: i32, out: &str, strict: bool) -> Option<String> {
        problem(vector, &answer(code, out), strict)
    }

    #[test]
    fn verdicts_are_scored() {
        let (valid, invalid, either) = (
            vector(r#""verdict":"valid","ours":"accept""#),
            vector(r#""verdict":"invalid","ours":"reject","code":"a.b","at":7"#),
            vector(r#""verdict":"either","ours":"reject","code":"c.d","at":9"#),
        );
        let table = r#"{"tensors":{},"metadata":null}"#;
        assert_eq!(wrong(&valid, 0, table, true), None);
        assert_eq!(wrong(&valid, 1, "no", false).as_deref(), Some("must accept, but did reject: no"));
        assert_eq!(wrong(&invalid, 0, table, false).as_deref(), Some("must reject, but did accept"));
        assert_eq!(wrong(&invalid, 1, "no", false), None);
        assert_eq!(wrong(&invalid, 1, "error[a.b] at byte 7", true), None);
        let error = "must say error[a.b] at byte 7, but said error[a.b] at byte 8";
        assert_eq!(wrong(&invalid, 1, "error[a.b] at byte 8", true).as_deref(), Some(error));
        assert_eq!(
            wrong(&invalid, 1, "no", true).as_deref(),
            Some("must say error[a.b] at byte 7, but said no code")
        );
        assert_eq!((wrong(&either, 0, table, false), wrong(&either, 1, "", false)), (None, None));
        assert_eq!(wrong(&either, 0, table, true).as_deref(), Some("must reject, but did accept"));
        assert_eq!(wrong(&either, 101, "", false).as_deref(), Some("crashed: exit code 101"));
    }

    #[test]
    fn tables_are_compared_including_types() {
        let row = r#"{"name":"a","dtype":"U8","shape":[2],"data_offsets":[0,2],"sha256":"00"}"#;
        let two = vector(&format!(r#""verdict":"valid","ours":"accept","tensors":[{row}],"metadata":null"#));
        let read = |tensor: &str, metadata: &str| {
            wrong(&two, 0, &format!(r#"{{"tensors":{{{tensor}}},"metadata":{metadata}}}"#), false)
                .unwrap_or_default()
        };
        let with = |shape: &str, more: &str| {
            format!(r#""a":{{"dtype":"U8","shape":{shape},"data_offsets":[0,2]{more}}}"#)
        };
        assert_eq!(read(&with("[2]", ""), "null"), "");
        assert_eq!(read(&with("[2]", r#","sha256":"00""#), "null"), "");
        assert_eq!(read(&with("[2.0]", ""), "null"), "shape of \"a\" is [2], but [2.0] was read");
        assert_eq!(read(&with("[true]", ""), "null"), "shape of \"a\" is [2], but [true] was read");
        assert_eq!(
            read(&with("[2]", r#","sha256":"01""#), "null"),
            "sha256 of \"a\" is \"00\", but \"01\" was read"
        );
        assert_eq!(read(&with("[2]", r#","more":1"#), "null"), "more of \"a\" is null, but 1 was read");
        assert_eq!(read(&with("[2]", ""), "{}"), "the metadata is null, but {} was read");
        assert_eq!(read(r#""a":{"dtype":"U8","shape":[2]}"#, "null"), "");
        let without_metadata = r#"{"tensors":{"a":{"dtype":"U8","shape":[2]}}}"#;
        assert_eq!(wrong(&two, 0, without_metadata, false), None);
        assert_eq!(wrong(&two, 0, without_metadata, true).as_deref(), Some("leaves out the metadata"));
        let without_offsets = r#"{"tensors":{"a":{"dtype":"U8","shape":[2]}},"metadata":null}"#;
        assert_eq!(wrong(&two, 0, without_offsets, true).as_deref(), Some("leaves out data_offsets"));
        assert!(Score::new(&two, answer(0, without_offsets), false).left_out);
        assert_eq!(read("", "null"), "the tensors are [\"a\"], but [] were read");
        let many = vector(r#""verdict":"valid","ours":"accept","tensor_count":3"#);
        let error = wrong(&many, 0, r#"{"tensors":{},"metadata":{"a":"b"}}"#, false);
        assert_eq!(error.as_deref(), Some("has 3 tensors, but 0 were read"));
    }

    #[test]
    fn scores_groups_and_errors_are_counted() {
        let (valid, invalid) = (
            vector(r#""verdict":"valid","ours":"accept""#),
            vector(r#""verdict":"invalid","ours":"reject","code":"a.b","at":7"#),
        );
        let words = ["error[a.b] at byte 7", "error[a.b] at byte 8", "error[a.c] at byte 7"];
        let rejections = words.map(|words| Score::new(&invalid, answer(1, words), true));
        let scores =
            [&rejections[..], &[Score::new(&valid, answer(1, "error[a.b] at byte 7"), true)]].concat();
        let count = |right, all| Count { right, all };
        assert_eq!(Count::of(&scores), count(1, 4));
        let groups = grouped(&scores, |score| score.vector.verdict);
        assert_eq!(groups, [(Verdict::Invalid, count(1, 3)), (Verdict::Valid, count(0, 1))]);
        assert_eq!(Errors::of(&scores), Errors { all: 3, code: 2, at: 2 });
    }
}
