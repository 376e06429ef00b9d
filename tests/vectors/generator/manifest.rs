//! The manifest: one line per vector, so that a change to one is a change of one line.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::build::{Vector, data_at};
use crate::case::Body;
use crate::codes::{FLAGS, class, codes};
use crate::groups::{LEVELS, PROFILES, is_header_only};
use crate::hex;
use crate::rules::{SOURCES, rules};
use support::reference::{CLASSES, RELEASES};
use vectors::Verdict::Invalid;
use vectors::table::{Table, Tensor};

/// The version of the suite, by the rules of semantic versions: CHANGES.md says what changed.
const SUITE: &str = "1.1.0";

/// The day of that version.
const DATE: &str = "2026-11-27";

/// A vector, and what depends on the other vectors.
pub struct Listed<'a> {
    /// The vector.
    pub vector: &'a Vector<'a>,
    /// The id of its twin.
    pub twin: Option<&'static str>,
    /// Its flags.
    pub flags: Vec<&'static str>,
    /// Its level.
    pub level: &'static str,
    /// Whether it is one of the few that catch most bugs.
    pub lite: bool,
}

/// A JSON object that keeps the order of its members.
#[derive(Default)]
pub struct Object(Vec<(&'static str, Value)>);

impl Object {
    /// Adds a member.
    pub fn with(mut self, key: &'static str, value: Value) -> Self {
        self.0.push((key, value));
        self
    }

    /// Adds a member that may be absent.
    pub fn maybe(self, key: &'static str, value: Option<Value>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Returns the object in one line.
    pub fn line(&self) -> String {
        let members: Vec<String> = self.0.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    }
}

/// Returns a manifest of other cases, with other members before its flags.
pub fn of_cases(members: &str, flags: &[(&str, &str)], cases: &[String]) -> String {
    format!(
        "{{\"version\":1,\n\"suite\":\"{SUITE}\",\n\"license\":\"CC0-1.0\",\n{members}\"flags\":{{{}}},\n\
         \"cases\":[\n{}\n]}}\n",
        lines(flags.iter().map(pair)),
        cases.join(",\n"),
    )
}

/// Returns the entire manifest with these vectors.
pub fn document(vectors: &[String]) -> String {
    let versions: Vec<&str> = RELEASES.iter().map(|release| release.version).collect();
    let codes = codes().map(|(code, meaning)| {
        let class = class(code).expect("the table has the code");
        format!("\"{code}\":{}", json!({ "class": class, "meaning": meaning }))
    });
    let rules = rules()
        .into_iter()
        .map(|(id, rule)| format!("\"{id}\":{}", json!({ "source": rule.source, "rule": rule.sentence })));
    format!(
        "{{\"version\":2,\n\"suite\":\"{SUITE}\",\n\"date\":\"{DATE}\",\n\"license\":\"CC0-1.0\",\n\
         \"references\":{},\n\"classes\":{{{}}},\n\"codes\":{{{}}},\n\"flags\":{{{}}},\n\"sources\":{{{}}},\n\
         \"levels\":{{{}}},\n\"profiles\":{{{}}},\n\"rules\":{{{}}},\n\"vectors\":[\n{}\n]}}\n",
        json!(versions),
        lines(CLASSES.iter().map(pair)),
        lines(codes),
        lines(FLAGS.iter().map(pair)),
        lines(SOURCES.iter().map(pair)),
        lines(LEVELS.iter().map(pair)),
        lines(PROFILES.iter().map(pair)),
        lines(rules),
        vectors.join(",\n"),
    )
}

fn lines(members: impl Iterator<Item = String>) -> String {
    members.map(|member| format!("\n{member}")).collect::<Vec<_>>().join(",")
}

fn pair((key, value): &(&str, &str)) -> String {
    format!("\"{key}\":{}", json!(value))
}

/// Returns one vector as a line of the manifest.
pub fn vector(vector: &Listed<'_>) -> String {
    let Listed { vector, twin, flags, level, lite } = vector;
    let case = vector.case;
    let object = Object::default().with("id", json!(case.id));
    let table = vector.table.as_ref();
    // The table of a recipe may be too long to list.
    let (counted, listed) = if let Body::Recipe(_) = case.body { (table, None) } else { (None, table) };
    place(object, vector)
        .with("level", json!(level))
        .with("header_only", json!(is_header_only(vector)))
        .with("lite", json!(lite))
        .with("verdict", json!(vector.verdict().word()))
        .with("source", json!(vector.source()))
        .maybe("published", vector.published().map(|verdict| json!(verdict)))
        .maybe("twin", twin.map(|id| json!(id)))
        .maybe("twin_differs", case.unlike.map(|why| json!(why)))
        .with("ours", json!(vector.ours().word()))
        .maybe("code", vector.error.map(|(code, _)| json!(code)))
        .maybe("at", vector.error.map(|(_, at)| json!(at)))
        .maybe("class", vector.class.filter(|_| vector.verdict() == Invalid).map(|class| json!(class)))
        .maybe("faults", vector.error.map(|_| json!(case.faults)))
        .maybe("deviation", case.deviation.map(|deviation| json!(deviation)))
        .with("rule", json!(case.rule))
        .with("reason", json!(case.reason))
        .with("flags", json!(flags))
        .with("reference", verdicts(vector))
        .maybe("tensor_count", counted.map(|table| json!(table.tensors.len())))
        .maybe("tensors", listed.map(|table| tensors(vector, table)))
        .maybe("metadata", listed.map(|table| json!(table.metadata)))
        .line()
}

/// Adds where the bytes are: in a file, or in a recipe.
fn place(object: Object, vector: &Vector<'_>) -> Object {
    let object = match vector.case.body {
        Body::Recipe(recipe) => object.with("recipe", recipe.to_json()),
        _ => object.with("file", json!(vector.path())),
    };
    object.with("length", json!(vector.file.len())).with("sha256", json!(sum(&vector.file)))
}

fn verdicts(vector: &Vector<'_>) -> Value {
    let classes = vector.reference.iter().map(|(version, classes)| match classes.as_slice() {
        [one] => ((*version).to_owned(), json!(one)),
        several => ((*version).to_owned(), json!(several)),
    });
    Value::Object(classes.collect())
}

fn tensors(vector: &Vector<'_>, table: &Table) -> Value {
    let data_at = in_memory(data_at(&vector.file));
    let data = &vector.file[data_at..];
    let tensor = |tensor: &Tensor| {
        let [begin, end] = tensor.data_offsets.map(in_memory);
        json!({
            "name": tensor.name,
            "dtype": tensor.dtype,
            "shape": tensor.shape,
            "data_offsets": [begin, end],
            "sha256": sum(&data[begin..end]),
        })
    };
    table.tensors.iter().map(tensor).collect()
}

fn in_memory(offset: u64) -> usize {
    usize::try_from(offset).expect("a valid file is in memory, and contains the offset")
}

fn sum(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
