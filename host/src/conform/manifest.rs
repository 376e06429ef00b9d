//! The list of the vectors.

use crate::conform::Unusable;
use crate::conform::recipe::Recipe;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};

/// What of `manifest.json` a reader is judged by.
#[derive(Deserialize)]
pub struct Manifest {
    /// Classes of bugs, each with a sentence.
    pub flags: BTreeMap<String, String>,
    pub vectors: Vec<Vector>,
}

/// What every reader should say.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Valid,
    Invalid,
    /// Readers may differ.
    Either,
}

/// What this project says.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Ours {
    Accept,
    Reject,
}

/// One file, and what a reader must say about it.
#[derive(Deserialize)]
pub struct Vector {
    /// Area and what.
    pub id: String,
    pub file: Option<String>,
    pub recipe: Option<Recipe>,
    /// Bytes of the file.
    pub length: u64,
    pub sha256: String,
    #[serde(default)]
    pub large: bool,
    pub verdict: Verdict,
    pub ours: Ours,
    pub code: Option<String>,
    pub at: Option<u64>,
    pub rule: String,
    pub reason: String,
    pub flags: Vec<String>,
    /// The tensors of a file that is to be accepted; each member as it stands, to be compared with what a reader prints.
    pub tensors: Option<Vec<Map<String, Value>>>,
    /// For files of too many tensors to be listed.
    pub tensor_count: Option<usize>,
    /// That it is `null` is to be compared too; that it is missing is not.
    #[serde(default, deserialize_with = "even_null")]
    pub metadata: Option<Value>,
}

fn even_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Manifest {
    /// Reads a manifest.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unusable> {
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| damaged(&error.to_string()))?;
        let mut ids = HashSet::new();
        match manifest.vectors.iter().find(|vector| !ids.insert(&vector.id)) {
            Some(twice) => Err(damaged(&format!("the vector {:?} is listed twice", twice.id))),
            None => Ok(manifest),
        }
    }
}

fn damaged(why: &str) -> Unusable {
    Unusable::Vectors(format!("it is no manifest of conformance vectors: {why}"))
}

impl Vector {
    /// The first word of the id.
    pub fn area(&self) -> &str {
        self.id.split_once('-').map_or(&self.id, |(area, _)| area)
    }
}

#[cfg(test)]
mod tests {
    use super::Manifest;

    fn refused(text: &str) -> String {
        match Manifest::parse(text.as_bytes()) {
            Ok(_) => panic!("it is taken: {text}"),
            Err(reason) => format!("{reason:?}"),
        }
    }

    #[test]
    fn what_is_no_manifest_is_refused_in_a_sentence() {
        let vector = r#"{"id":"a-b","length":0,"sha256":"","verdict":"valid","ours":"accept","rule":"","reason":"","flags":[]}"#;
        assert!(refused("").contains("EOF while parsing"));
        assert!(refused("[]").contains("line 1 column"));
        assert!(refused(r#"{"flags":{}}"#).contains("missing field `vectors`"));
        assert!(refused(r#"{"flags":{},"vectors":[{"id":7}]}"#).contains("invalid type"));
        let twice = format!(r#"{{"flags":{{}},"vectors":[{vector},{vector}]}}"#);
        assert!(refused(&twice).contains("is listed twice"));
    }
}
