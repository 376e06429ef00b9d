//! The list of the vectors.

use crate::recipe::Recipe;
use crate::table::{Table, Tensor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashSet};

/// The whole of `manifest.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Manifest {
    /// The releases of the reference that were asked, oldest first.
    #[serde(default)]
    pub references: Vec<String>,
    /// The reference's classes of errors: abbreviation, and the name in its source.
    #[serde(default)]
    pub classes: BTreeMap<String, String>,
    /// This project's codes of errors.
    #[serde(default)]
    pub codes: BTreeMap<String, Code>,
    /// Classes of bugs that vectors catch, each with a sentence.
    pub flags: BTreeMap<String, String>,
    /// The vectors.
    pub vectors: Vec<Vector>,
}

/// One of this project's codes of errors.
#[derive(Clone, Debug, Deserialize)]
pub struct Code {
    /// The class of the reference's error that answers to it; none where the reference takes the file.
    pub class: Option<String>,
    /// What is wrong, and at which byte.
    pub meaning: String,
}

/// What every reader should say.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Accept.
    Valid,
    /// Reject.
    Invalid,
    /// Readers may differ.
    Either,
}

/// What this project says.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Ours {
    /// The file is sound.
    Accept,
    /// The file is not sound.
    Reject,
}

/// The verdict of one release of the reference: `ok` or a class, or several that come at random.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Answers {
    /// Always this one.
    One(String),
    /// One of these.
    Several(Vec<String>),
}

impl Answers {
    /// Whether this answer is among them.
    pub fn contain(&self, answer: &str) -> bool {
        match self {
            Self::One(one) => one == answer,
            Self::Several(several) => several.iter().any(|one| one == answer),
        }
    }
}

/// One tensor of a vector.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TensorRow {
    /// Its name.
    pub name: String,
    /// Its dtype, as the header spells it.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Begin and end, counted from the start of the data.
    pub data_offsets: [u64; 2],
    /// Of its bytes.
    pub sha256: String,
}

/// One conformance vector.
#[derive(Clone, Debug, Deserialize)]
pub struct Vector {
    /// Area and what.
    pub id: String,
    /// Its path in the folder of the vectors.
    pub file: Option<String>,
    /// How it is made, where it is too large to be kept.
    pub recipe: Option<Recipe>,
    /// Bytes of the file.
    pub length: usize,
    /// Of the file.
    pub sha256: String,
    /// Whether the file is more than a megabyte.
    #[serde(default)]
    pub large: bool,
    /// What every reader should say.
    pub verdict: Verdict,
    /// What this project says.
    pub ours: Ours,
    /// The code of this project's error.
    pub code: Option<String>,
    /// The byte at which this project reports it.
    pub at: Option<u64>,
    /// How many rules the file breaks; with one, the class of the error is settled too.
    pub faults: Option<u8>,
    /// Which of the listed differences from the reference this is.
    pub deviation: Option<String>,
    /// The rule that it shows.
    pub rule: String,
    /// Why it exists.
    pub reason: String,
    /// Classes of bugs that it catches.
    pub flags: Vec<String>,
    /// What each release of the reference says.
    #[serde(default)]
    pub reference: BTreeMap<String, Answers>,
    /// How many tensors there are, where they are too many to list.
    pub tensor_count: Option<usize>,
    /// The tensors of a file that this project accepts.
    pub tensors: Option<Vec<TensorRow>>,
    /// That it is `null` is to be compared too; that it is missing is not.
    #[serde(default, deserialize_with = "even_null")]
    pub metadata: Option<Value>,
}

fn even_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// It is none; a sentence says why.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let damaged = |why: String| format!("it is no manifest of conformance vectors: {why}");
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        let mut ids = HashSet::new();
        match manifest.vectors.iter().find(|vector| !ids.insert(&vector.id)) {
            Some(twice) => Err(damaged(format!("the vector {:?} is listed twice", twice.id))),
            None => Ok(manifest),
        }
    }
}

impl Vector {
    /// The bytes of the file, from the repository or made anew.
    ///
    /// # Panics
    /// When the file cannot be read or is not the one that the manifest means.
    pub fn bytes(&self) -> Vec<u8> {
        let read = |file: &str| std::fs::read(crate::folder().join(file)).map_err(|error| error.to_string());
        self.content(read).unwrap_or_else(|problem| panic!("{}: {problem}", self.id))
    }

    /// The bytes of the file, which `read` gives if it is kept.
    ///
    /// # Errors
    /// Those of `read`; it is not the file that the manifest means.
    pub fn content(&self, read: impl FnOnce(&str) -> Result<Vec<u8>, String>) -> Result<Vec<u8>, String> {
        let bytes = match (&self.file, &self.recipe) {
            (Some(file), None) => read(file)?,
            (None, Some(recipe)) => recipe.expand(self.length as u64)?,
            _ => return Err("it needs a file or a recipe, and not both".to_owned()),
        };
        if bytes.len() != self.length {
            return Err(format!("it has not the {} bytes that the manifest says", self.length));
        }
        match sha256(&bytes) == self.sha256 {
            true => Ok(bytes),
            false => Err("the file is not the one that the manifest means".to_owned()),
        }
    }

    /// The area: the first word of the id.
    pub fn area(&self) -> &str {
        self.id.split_once('-').map_or(&self.id, |(area, _)| area)
    }

    /// What a reader must report, where the manifest lists it.
    pub fn table(&self) -> Option<Table> {
        let tensors = self.tensors.as_ref()?.iter().map(TensorRow::tensor).collect();
        let pairs = self.metadata.as_ref().and_then(Value::as_object);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata =
            pairs.map(|pairs| pairs.iter().map(|(key, value)| (key.clone(), text(value))).collect());
        Some(Table { tensors, metadata }.sorted())
    }
}

impl TensorRow {
    fn tensor(&self) -> Tensor {
        Tensor {
            data_offsets: self.data_offsets,
            name: self.name.clone(),
            dtype: self.dtype.clone(),
            shape: self.shape.clone(),
        }
    }
}

/// The SHA-256 of the bytes in lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::Manifest;

    fn refused(text: &str) -> String {
        Manifest::parse(text.as_bytes()).map_or_else(|why| why, |_| panic!("it is taken: {text}"))
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
