//! Scores answers: whether they match the manifest.

use crate::manifest::{Ours, TensorRow, Vector, Verdict};
use crate::protocol::{Answer, Outcome};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The largest number of characters of a value in a sentence.
const SHOWN: usize = 200;

/// What an answer is worth. Only a right one has a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It matches the manifest.
    Right,
    /// Another verdict or another table.
    Wrong,
    /// The file is rejected as it must be, but so is its valid twin.
    NotShown,
    /// The process ended in an unexpected way.
    Crash,
    /// There was no answer in time.
    Hang,
    /// The output does not follow the protocol.
    BadOutput,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Right, Self::Wrong, Self::NotShown, Self::Crash, Self::Hang, Self::BadOutput];

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::NotShown => "not shown",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::BadOutput => "bad output",
        }
    }
}

/// A part of a table that a reader may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The offsets of every tensor.
    Offsets,
    /// The SHA-256 of every tensor's bytes.
    Checksums,
    /// The metadata.
    Metadata,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 3] = [Self::Offsets, Self::Checksums, Self::Metadata];

    /// Returns its word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Offsets => "offsets",
            Self::Checksums => "checksums",
            Self::Metadata => "metadata",
        }
    }

    /// Returns its member in the table or in a tensor.
    pub fn member(self) -> &'static str {
        match self {
            Self::Offsets => "data_offsets",
            Self::Checksums => "sha256",
            Self::Metadata => "metadata",
        }
    }
}

/// A part of a table, compared with the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The reader left it out.
    LeftOut,
    /// It is that of the manifest.
    Right,
    /// It is another one.
    Wrong,
}

/// An answer to a vector, and what it is worth.
#[derive(Clone, Debug)]
pub struct Score<'v> {
    /// The vector.
    pub vector: &'v Vector,
    /// The answer, without its table, which may be large.
    pub answer: Answer,
    /// What it is worth.
    pub kind: Kind,
    /// Why the answer is not right, in a sentence; `None` if it is.
    pub problem: Option<String>,
    /// The parts of the table in the order of [`Part::ALL`]; `None` where there is nothing to compare.
    pub parts: [Option<Compared>; 3],
}

impl<'v> Score<'v> {
    /// Scores an answer. `strict` requires what this project requires of itself: its own verdict where
    /// readers may differ, the code and the byte of each error, and all that the manifest lists of a table.
    pub fn new(vector: &'v Vector, answer: Answer, strict: bool) -> Self {
        let (kind, problem) = judge(vector, &answer, strict);
        let parts = Part::ALL.map(|part| compared(vector, answer.table.as_ref()?, part));
        Self { vector, answer: Answer { table: None, ..answer }, kind, problem, parts }
    }

    /// Takes the point for a rejection if the vector's twin is not accepted.
    #[must_use]
    pub fn with_twin(self, twin: &Score<'_>) -> Self {
        let is_rejection = self.answer.outcome == Outcome::Reject && self.vector.verdict == Verdict::Invalid;
        if self.kind != Kind::Right || !is_rejection || twin.answer.outcome == Outcome::Accept {
            return self;
        }
        let problem = format!("rejected, but so is the valid file {}", twin.vector.id);
        Self { kind: Kind::NotShown, problem: Some(problem), ..self }
    }

    /// Whether the answer is right.
    pub fn is_right(&self) -> bool {
        self.kind == Kind::Right
    }
}

/// Returns what an answer is worth and what is wrong with it, without regard to the twin.
fn judge(vector: &Vector, answer: &Answer, strict: bool) -> (Kind, Option<String>) {
    let (expected, text) = (expected(vector, strict), &answer.text);
    let with = |kind, problem: String| (kind, Some(problem));
    match (answer.outcome, expected) {
        (Outcome::Crash, _) => with(Kind::Crash, format!("crashed: {text}")),
        (Outcome::Hang, _) => with(Kind::Hang, format!("hung: {text}")),
        (Outcome::BadOutput, _) => with(Kind::BadOutput, format!("bad output: {text}")),
        (Outcome::Accept, Some(Outcome::Reject)) => {
            with(Kind::Wrong, "must reject, but did accept".to_owned())
        }
        (Outcome::Reject, Some(Outcome::Accept)) => {
            let colon = if text.is_empty() { "" } else { ": " };
            with(Kind::Wrong, format!("must accept, but did reject{colon}{text}"))
        }
        (Outcome::Accept, _) if answer.table.is_none() => {
            with(Kind::BadOutput, format!("accepted, but {text}"))
        }
        (_, None) => (Kind::Right, None),
        _ => detail(vector, answer, strict).map_or((Kind::Right, None), |problem| with(Kind::Wrong, problem)),
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

/// Returns what is wrong with an answer whose verdict is right.
fn detail(vector: &Vector, answer: &Answer, strict: bool) -> Option<String> {
    match &answer.table {
        Some(table) => table_problem(vector, table).or_else(|| left_out(vector, table).filter(|_| strict)),
        None if strict => error_problem(vector, answer),
        None => None,
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

/// Returns what is wrong with the tensors or the metadata. What is missing in the table is not compared.
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

/// Returns what the manifest lists and the table does not have: offsets or metadata.
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

fn by_name(rows: &[TensorRow]) -> BTreeMap<&str, &TensorRow> {
    rows.iter().map(|row| (row.name.as_str(), row)).collect()
}

fn tensors_problem(expected: &[TensorRow], found: &Map<String, Value>) -> Option<String> {
    let rows = by_name(expected);
    if rows.len() != found.len() || !rows.keys().all(|name| found.contains_key(*name)) {
        let (expected, found) = (rows.keys().copied().collect(), found.keys().map(String::as_str).collect());
        return Some(format!("the tensors are {}, but {} were read", shown(&expected), shown(&found)));
    }
    rows.iter().find_map(|(name, row)| tensor_problem(name, row, found.get(*name)?))
}

/// Returns what is wrong with a tensor. Missing members are not compared.
fn tensor_problem(name: &str, row: &TensorRow, tensor: &Value) -> Option<String> {
    let mut members = tensor.as_object()?.iter();
    let is_right =
        |member: &str, value| member_of(row, member).is_some_and(|expected| same(value, &expected));
    let (member, value) = members.find(|(member, value)| !is_right(member, value))?;
    let expected = member_of(row, member).map_or("no member".to_owned(), |expected| shown(&expected));
    Some(format!("{member} of {} is {expected}, but {} was read", shown(&Value::from(name)), shown(value)))
}

/// Returns a member of a tensor as the manifest has it; `None` if tensors have no such member.
fn member_of(row: &TensorRow, member: &str) -> Option<Value> {
    Some(match member {
        "dtype" => row.dtype.clone().into(),
        "shape" => row.shape.clone().into(),
        "data_offsets" => row.data_offsets.to_vec().into(),
        "sha256" => row.sha256.clone().into(),
        _ => return None,
    })
}

/// Whether a value is the expected one. An integer may be a string of decimal digits.
fn same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(one, other)| same(one, other))
        }
        (Value::String(digits), Value::Number(number)) => *digits == number.to_string(),
        _ => found == expected,
    }
}

/// Compares a part of the table of a valid file with the manifest, if that lists it.
fn compared(vector: &Vector, table: &Map<String, Value>, part: Part) -> Option<Compared> {
    let (rows, member) = (by_name(vector.tensors.as_ref()?), part.member());
    let tensors = table.get("tensors")?.as_object()?;
    let verdict = |is_right| if is_right { Compared::Right } else { Compared::Wrong };
    match part {
        _ if vector.verdict != Verdict::Valid => None,
        Part::Metadata => {
            let expected = vector.metadata.as_ref()?;
            Some(table.get(member).map_or(Compared::LeftOut, |found| verdict(found == expected)))
        }
        _ if rows.is_empty() || tensors.is_empty() => None,
        _ if tensors.values().any(|tensor| tensor.get(member).is_none()) => Some(Compared::LeftOut),
        _ => Some(verdict(tensors.iter().all(|(name, tensor)| {
            let expected = rows.get(name.as_str()).and_then(|row| member_of(row, member));
            tensor.get(member).zip(expected).is_some_and(|(found, expected)| same(found, &expected))
        }))),
    }
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
pub(crate) mod tests {
    use super::{Compared, Kind, Score, judge};
    use crate::manifest::Vector;
    use crate::protocol::{Answer, End, Output};

    pub fn vector(members: &str) -> Vector {
        let fixed = r#""id":"a-b","length":0,"sha256":"","rule":"","reason":"","flags":[]"#;
        serde_json::from_str(&format!("{{{fixed},{members}}}")).expect("a vector")
    }

    pub fn answer(code: i32, out: &str) -> Answer {
        Answer::of_process(&Output { end: End::Code(code), stdout: out.into(), stderr: Vec::new() })
    }

    fn wrong(vector: &Vector, code: i32, out: &str, strict: bool) -> Option<String> {
        judge(vector, &answer(code, out), strict).1
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
    fn bad_output_is_acceptance() {
        let invalid = vector(r#""verdict":"invalid","ours":"reject""#);
        let judged = judge(&invalid, &answer(0, ""), false);
        assert_eq!(judged, (Kind::Wrong, Some("must reject, but did accept".to_owned())));
        for verdict in ["valid", "either"] {
            let vector = vector(&format!(r#""verdict":"{verdict}","ours":"accept""#));
            let judged = judge(&vector, &answer(0, ""), false);
            let problem = "accepted, but standard output is empty".to_owned();
            assert_eq!(judged, (Kind::BadOutput, Some(problem)));
        }
        let judged = judge(&invalid, &Answer::of_line(b"x", "/a"), false);
        let problem = "bad output: the line is not one JSON object: x".to_owned();
        assert_eq!(judged, (Kind::BadOutput, Some(problem)));
    }

    #[test]
    fn every_end_has_its_kind() {
        let either = vector(r#""verdict":"either","ours":"reject""#);
        let kind = |end| {
            let output = Output { end, stdout: Vec::new(), stderr: Vec::new() };
            judge(&either, &Answer::of_process(&output), false).0
        };
        assert_eq!(kind(End::Signal(11)), Kind::Crash);
        assert_eq!(kind(End::TimedOut(1)), Kind::Hang);
        assert_eq!(kind(End::Flooded(1)), Kind::BadOutput);
        assert_eq!(kind(End::Code(1)), Kind::Right);
    }

    #[test]
    fn a_rejection_needs_an_accepted_twin() {
        let twin = vector(r#""verdict":"valid","ours":"accept","tensors":[],"metadata":null"#);
        let invalid = vector(r#""verdict":"invalid","ours":"reject","twin":"a-b""#);
        let scored = |code, out, twin_code, twin_out| {
            let twin = Score::new(&twin, answer(twin_code, twin_out), false);
            Score::new(&invalid, answer(code, out), false).with_twin(&twin).kind
        };
        let table = r#"{"tensors":{},"metadata":null}"#;
        assert_eq!(scored(1, "", 0, table), Kind::Right);
        assert_eq!(scored(1, "", 0, r#"{"tensors":{"x":{"dtype":"U8","shape":[]}}}"#), Kind::Right);
        assert_eq!(scored(1, "", 1, ""), Kind::NotShown);
        assert_eq!(scored(1, "", 2, ""), Kind::NotShown);
        assert_eq!(scored(0, table, 1, ""), Kind::Wrong);
        assert_eq!(scored(2, "", 1, ""), Kind::Crash);
        let either = vector(r#""verdict":"either","ours":"reject""#);
        let twin = Score::new(&twin, answer(1, ""), false);
        assert_eq!(Score::new(&either, answer(1, ""), false).with_twin(&twin).kind, Kind::Right);
    }

    /// A vector with one tensor, and its table with these members of the tensor and this metadata.
    fn one_tensor() -> Vector {
        let row = r#"{"name":"a","dtype":"U8","shape":[2],"data_offsets":[0,2],"sha256":"00"}"#;
        vector(&format!(r#""verdict":"valid","ours":"accept","tensors":[{row}],"metadata":null"#))
    }

    #[test]
    fn tables_are_compared_including_types() {
        let one = one_tensor();
        let read = |tensor: &str, metadata: &str| {
            wrong(&one, 0, &format!(r#"{{"tensors":{{{tensor}}},"metadata":{metadata}}}"#), false)
                .unwrap_or_default()
        };
        let with = |shape: &str, more: &str| {
            format!(r#""a":{{"dtype":"U8","shape":{shape},"data_offsets":[0,2]{more}}}"#)
        };
        for right in [with("[2]", ""), with("[2]", r#","sha256":"00""#), with(r#"["2"]"#, "")] {
            assert_eq!(read(&right, "null"), "");
        }
        for shape in ["[2.0]", "[true]", "[\"02\"]", "[\"2.0\"]", "[2,2]"] {
            let said = format!("shape of \"a\" is [2], but {shape} was read");
            assert_eq!(read(&with(shape, ""), "null"), said);
        }
        assert_eq!(
            read(&with("[2]", r#","sha256":"01""#), "null"),
            "sha256 of \"a\" is \"00\", but \"01\" was read"
        );
        for (member, value) in [("more", "1"), ("more", "null"), ("name", "\"a\"")] {
            let said = format!("{member} of \"a\" is no member, but {value} was read");
            assert_eq!(read(&with("[2]", &format!(",\"{member}\":{value}")), "null"), said);
        }
        assert_eq!(read(&with("[2]", ""), "{}"), "the metadata is null, but {} was read");
        assert_eq!(read(r#""a":{"dtype":"U8","shape":[2]}"#, "null"), "");
        assert_eq!(read("", "null"), "the tensors are [\"a\"], but [] were read");
        let many = vector(r#""verdict":"valid","ours":"accept","tensor_count":3"#);
        let error = wrong(&many, 0, r#"{"tensors":{},"metadata":{"a":"b"}}"#, false);
        assert_eq!(error.as_deref(), Some("has 3 tensors, but 0 were read"));
    }

    #[test]
    fn parts_may_be_left_out_and_are_compared_on_their_own() {
        let one = one_tensor();
        let parts = |members: &str, metadata: &str| {
            let out = format!(r#"{{"tensors":{{"a":{{"dtype":"U8","shape":[2]{members}}}}}{metadata}}}"#);
            Score::new(&one, answer(0, &out), false).parts
        };
        let (none, right, wrong) = (Some(Compared::LeftOut), Some(Compared::Right), Some(Compared::Wrong));
        assert_eq!(parts("", ""), [none, none, none]);
        let members = r#","data_offsets":["0","2"],"sha256":"01""#;
        assert_eq!(parts(members, r#","metadata":null"#), [right, wrong, right]);
        assert_eq!(Score::new(&one, answer(0, r#"{"tensors":{}}"#), false).parts, [None, None, none]);
        assert_eq!(Score::new(&one, answer(0, ""), false).parts, [None; 3]);
    }

    #[test]
    fn strict_scores_miss_what_is_left_out() {
        let one = one_tensor();
        let without_metadata = r#"{"tensors":{"a":{"dtype":"U8","shape":[2]}}}"#;
        assert_eq!(wrong(&one, 0, without_metadata, false), None);
        assert_eq!(wrong(&one, 0, without_metadata, true).as_deref(), Some("leaves out the metadata"));
        let without_offsets = r#"{"tensors":{"a":{"dtype":"U8","shape":[2]}},"metadata":null}"#;
        assert_eq!(wrong(&one, 0, without_offsets, true).as_deref(), Some("leaves out data_offsets"));
    }
}
