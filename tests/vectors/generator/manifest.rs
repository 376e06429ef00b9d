//! The manifest: one line per vector, so that a change to one is a change of one line.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::build::{Vector, data_at};
use crate::case::Body;
use crate::codes::{FLAGS, class, codes};
use crate::hex;
use support::reference::{CLASSES, RELEASES};
use vectors::table::{Table, Tensor};

/// A file of more bytes than this is marked as large.
const LARGE: usize = 1 << 20;

/// A JSON object that keeps the order of its members.
#[derive(Default)]
struct Object(Vec<(&'static str, Value)>);

impl Object {
    fn with(mut self, key: &'static str, value: Value) -> Self {
        self.0.push((key, value));
        self
    }

    fn maybe(self, key: &'static str, value: Option<Value>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    fn line(&self) -> String {
        let members: Vec<String> = self.0.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    }
}

/// Returns the entire manifest with these vectors.
pub fn document(vectors: &[String]) -> String {
    let versions: Vec<&str> = RELEASES.iter().map(|release| release.version).collect();
    let codes = codes().map(|(code, meaning)| {
        let class = class(code).expect("the table has the code");
        format!("\"{code}\":{}", json!({ "class": class, "meaning": meaning }))
    });
    format!(
        "{{\"version\":1,\n\"license\":\"CC0-1.0\",\n\"references\":{},\n\"classes\":{{{}}},\n\
         \"codes\":{{{}}},\n\"flags\":{{{}}},\n\"vectors\":[\n{}\n]}}\n",
        json!(versions),
        lines(CLASSES.iter().map(pair)),
        lines(codes),
        lines(FLAGS.iter().map(pair)),
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
pub fn vector(vector: &Vector<'_>) -> String {
    let case = vector.case;
    let object = Object::default().with("id", json!(case.id));
    place(object, vector)
        .with("verdict", json!(vector.verdict()))
        .with("ours", json!(if vector.error.is_some() { "reject" } else { "accept" }))
        .maybe("code", vector.error.map(|(code, _)| json!(code)))
        .maybe("at", vector.error.map(|(_, at)| json!(at)))
        .maybe("class", vector.class.filter(|_| vector.verdict() == "invalid").map(|class| json!(class)))
        .maybe("faults", vector.error.map(|_| json!(case.faults)))
        .maybe("deviation", case.deviation.map(|deviation| json!(deviation)))
        .with("rule", json!(case.rule))
        .with("reason", json!(case.reason))
        .with("flags", json!(case.flags))
        .with("reference", verdicts(vector))
        .maybe("tensor_count", many(vector).map(|table| json!(table.tensors.len())))
        .maybe("tensors", few(vector).map(|table| tensors(vector, table)))
        .maybe("metadata", few(vector).map(|table| json!(table.metadata)))
        .line()
}

fn place(object: Object, vector: &Vector<'_>) -> Object {
    match vector.case.body {
        Body::Recipe(recipe) => object
            .with("recipe", recipe.to_json())
            .with("length", json!(vector.file.len()))
            .with("sha256", json!(sum(&vector.file)))
            .maybe("large", (vector.file.len() > LARGE).then_some(json!(true))),
        _ => object
            .with("file", json!(vector.path()))
            .with("length", json!(vector.file.len()))
            .with("sha256", json!(sum(&vector.file))),
    }
}

/// Returns the table of a file that has too many tensors to list.
fn many<'a>(vector: &'a Vector<'_>) -> Option<&'a Table> {
    vector.table.as_ref().filter(|_| is_recipe(vector))
}

fn few<'a>(vector: &'a Vector<'_>) -> Option<&'a Table> {
    vector.table.as_ref().filter(|_| !is_recipe(vector))
}

fn is_recipe(vector: &Vector<'_>) -> bool {
    matches!(vector.case.body, Body::Recipe(_))
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
