//! The index of a sharded model: a text, the shards, and what a reader of both must report.
//!
//! An index is a convention, which `huggingface_hub` writes and `transformers` reads; no part of the format.
//! That a path stays in its directory, and that the index and the shards match, is this project's rule.

mod cases;

use serde_json::{Value, json};

use crate::hex;
use crate::manifest::{Object, of_cases};
use vectors::Verdict::{Invalid, Valid};
use vectors::{Ours, Verdict};

/// A sharded model as its author writes it.
pub struct Case {
    id: &'static str,
    /// What every reader should do.
    verdict: Verdict,
    /// What this project does.
    ours: Ours,
    reason: &'static str,
    flags: &'static [&'static str],
    /// The text of the index; `${directory}` is the absolute path of its directory.
    index: &'static str,
    /// The shards: a path from the directory of the index, and the tensors, each one byte, whose name's first
    /// letter is its value.
    shards: &'static [(&'static str, &'static [&'static str])],
    /// The id of a valid case that is the same but for the fault.
    twin: Option<&'static str>,
}

/// The groups of cases.
const FLAGS: [(&str, &str); 6] = [
    ("differs", "The index and the shards do not match."),
    ("grammar", "The index is JSON."),
    ("members", "The members of an index, and their types."),
    ("missing", "A shard is not there, or is not whole."),
    ("names", "Names of tensors and of shards that need care."),
    ("path", "The shard is there, but its path leads elsewhere on this system or on another."),
];

/// The groups that `transformers` opens, and that no reader should.
const UNSAFE: [&str; 2] = ["differs", "path"];

/// Returns the manifest of all cases.
pub fn document() -> Result<String, String> {
    let lines: Vec<String> = cases::CASES.iter().map(line).collect::<Result<_, _>>()?;
    Ok(of_cases("", &FLAGS, &lines))
}

fn line(case: &Case) -> Result<String, String> {
    let twin = cases::CASES.iter().find(|other| Some(other.id) == case.twin);
    if (case.verdict == Invalid) != twin.is_some_and(|twin| twin.verdict == Valid) {
        return Err(format!("{}: an invalid case, and no other, has a valid twin", case.id));
    }
    let files = case.shards.iter().map(|(name, tensors)| ((*name).to_owned(), json!(hex(&file(tensors)))));
    Ok(Object::default()
        .with("id", json!(case.id))
        .with("verdict", json!(case.verdict.word()))
        .with("source", json!(case.source()))
        .maybe("twin", case.twin.map(|id| json!(id)))
        .with("ours", json!(case.ours.word()))
        .with("reason", json!(case.reason))
        .with("flags", json!(case.flags))
        .with("index", json!(case.index))
        .with("files", Value::Object(files.collect()))
        .maybe("tensors", case.ours.accepts().then(|| tensors(case)))
        .line())
}

impl Case {
    /// Returns whose rule its verdict is.
    fn source(&self) -> &'static str {
        let is_unsafe = self.verdict == Invalid && self.flags.iter().any(|flag| UNSAFE.contains(flag));
        if is_unsafe { "safety" } else { "convention" }
    }
}

/// Returns the tensors of all shards: the shard of each, and its byte.
fn tensors(case: &Case) -> Value {
    let all = case.shards.iter().flat_map(|(shard, names)| names.iter().map(move |name| (shard, name)));
    let tensor = |(shard, name): (&&str, &&str)| {
        let value = json!({ "shard": shard, "dtype": "U8", "shape": [1], "data": hex(&[byte(name)]) });
        ((*name).to_owned(), value)
    };
    Value::Object(all.map(tensor).collect())
}

/// Returns the file of a shard. One without tensors is cut off.
fn file(tensors: &[&str]) -> Vec<u8> {
    let entry = |(at, name): (usize, &&str)| {
        format!("{}:{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{at},{}]}}", json!(name), at + 1)
    };
    let header = format!("{{{}}}", tensors.iter().enumerate().map(entry).collect::<Vec<_>>().join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend(tensors.iter().map(|name| byte(name)));
    if tensors.is_empty() {
        file.pop();
    }
    file
}

fn byte(name: &str) -> u8 {
    name.as_bytes().first().copied().unwrap_or_default()
}
