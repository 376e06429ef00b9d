//! Whether an answer is right.

use crate::conform::answer::{Answer, Said};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use vectors::{Ours, TensorRow, Vector, Verdict};

/// How much of a value is shown in a sentence, in characters.
const SHOWN: usize = 200;

/// An answer, and why it is wrong, in a sentence; nothing when it is right.
pub struct Score<'v> {
    pub vector: &'v Vector,
    pub answer: Answer,
    pub problem: Option<String>,
}

/// Why an answer is wrong. Strict is what this project asks of itself: its own verdict where readers may differ, and
/// the code and the place of each error.
pub fn problem(vector: &Vector, answer: &Answer, strict: bool) -> Option<String> {
    if answer.said == Said::Crash {
        return Some(format!("crashed: {}", answer.text));
    }
    let expected = expected(vector, strict)?;
    if answer.said != expected {
        let colon = if answer.text.is_empty() { "" } else { ": " };
        return Some(format!(
            "must {}, but did {}{colon}{}",
            expected.word(),
            answer.said.word(),
            answer.text
        ));
    }
    match &answer.table {
        Some(table) => table_problem(vector, table),
        None if strict => error_problem(vector, answer),
        None => None,
    }
}

/// Nothing where both are right.
fn expected(vector: &Vector, strict: bool) -> Option<Said> {
    match (vector.verdict, vector.ours) {
        (_, Ours::Accept) if strict => Some(Said::Accept),
        (_, Ours::Reject) if strict => Some(Said::Reject),
        (Verdict::Valid, _) => Some(Said::Accept),
        (Verdict::Invalid, _) => Some(Said::Reject),
        (Verdict::Either, _) => None,
    }
}

fn error_problem(vector: &Vector, answer: &Answer) -> Option<String> {
    if has_code(vector, answer) && has_place(vector, answer) {
        return None;
    }
    let error = |code: &Option<String>, at: Option<u64>| {
        let place = at.map_or("no byte".to_owned(), |at| format!("byte {at}"));
        code.as_ref().map_or("no code".to_owned(), |code| format!("error[{code}] at {place}"))
    };
    Some(format!("must say {}, but said {}", error(&vector.code, vector.at), error(&answer.code, answer.at)))
}

impl Score<'_> {
    /// Both sides refuse the file: the error can be compared.
    pub fn is_error(&self) -> bool {
        self.answer.said == Said::Reject && self.vector.ours == Ours::Reject
    }

    pub fn is_right(&self) -> bool {
        self.problem.is_none()
    }
}

/// Whether the code is the one of the manifest.
pub fn has_code(vector: &Vector, answer: &Answer) -> bool {
    answer.code == vector.code
}

/// Whether the offset is the one of the manifest.
pub fn has_place(vector: &Vector, answer: &Answer) -> bool {
    answer.at == vector.at
}

/// What is wrong with the tensors or the metadata.
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

fn tensors_problem(expected: &[TensorRow], found: &Map<String, Value>) -> Option<String> {
    let rows: BTreeMap<&str, &TensorRow> = expected.iter().map(|row| (row.name.as_str(), row)).collect();
    if rows.len() != found.len() || !rows.keys().all(|name| found.contains_key(*name)) {
        let (expected, found) = (rows.keys().copied().collect(), found.keys().map(String::as_str).collect());
        return Some(format!("the tensors are {}, but {} were read", shown(&expected), shown(&found)));
    }
    rows.iter().find_map(|(name, row)| tensor_problem(name, row, found.get(*name)?))
}

/// Members that are missing in what was read are not compared.
fn tensor_problem(name: &str, row: &TensorRow, tensor: &Value) -> Option<String> {
    // As the manifest spells it.
    let row = serde_json::to_value(row).ok()?;
    let expected = |member: &String| row.get(member).unwrap_or(&Value::Null);
    let mut members = tensor.as_object()?.iter();
    let (member, value) = members.find(|(member, value)| expected(member) != *value)?;
    let name = shown(&Value::from(name));
    Some(format!("{member} of {name} is {}, but {} was read", shown(expected(member)), shown(value)))
}

/// A value as JSON, cut if it is absurdly long.
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
    use super::problem;
    use crate::conform::answer::Answer;
    use crate::conform::child::{End, Ended};
    use vectors::Vector;

    fn vector(members: &str) -> Vector {
        let fixed = r#""id":"a-b","length":0,"sha256":"","rule":"","reason":"","flags":[]"#;
        serde_json::from_str(&format!("{{{fixed},{members}}}")).expect("a vector")
    }

    fn wrong(vector: &Vector, code: i32, out: &str, strict: bool) -> Option<String> {
        let ended = Ended { end: End::Code(code), out: out.into(), err: Vec::new() };
        problem(vector, &Answer::of(&ended), strict)
    }

    #[test]
    fn a_verdict_is_right_or_wrong() {
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
        let said = "must say error[a.b] at byte 7, but said error[a.b] at byte 8";
        assert_eq!(wrong(&invalid, 1, "error[a.b] at byte 8", true).as_deref(), Some(said));
        assert_eq!(
            wrong(&invalid, 1, "no", true).as_deref(),
            Some("must say error[a.b] at byte 7, but said no code")
        );
        assert_eq!((wrong(&either, 0, table, false), wrong(&either, 1, "", false)), (None, None));
        assert_eq!(wrong(&either, 0, table, true).as_deref(), Some("must reject, but did accept"));
        assert_eq!(wrong(&either, 101, "", false).as_deref(), Some("crashed: exit code 101"));
    }

    #[test]
    fn tables_are_compared_with_their_types() {
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
        assert_eq!(read("", "null"), "the tensors are [\"a\"], but [] were read");
        let many = vector(r#""verdict":"valid","ours":"accept","tensor_count":3"#);
        let said = wrong(&many, 0, r#"{"tensors":{},"metadata":{"a":"b"}}"#, false);
        assert_eq!(said.as_deref(), Some("has 3 tensors, but 0 were read"));
    }
}
