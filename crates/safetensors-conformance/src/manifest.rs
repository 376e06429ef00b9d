//! The manifest: the list of the vectors.

use crate::recipe::Recipe;
use crate::table::{Table, Tensor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The maximum size of the lite subset.
pub const MOST_LITE: usize = 100;

/// A longer file is made by its recipe in a file system that stores no zeros, and never in memory.
pub const MOST_IN_MEMORY: usize = 1 << 30;

/// All of `manifest.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Manifest {
    /// The version of the suite, by the rules of semantic versions.
    #[serde(default)]
    pub suite: String,
    /// The day of that version.
    #[serde(default)]
    pub date: String,
    /// The releases of the reference that were run, oldest first.
    #[serde(default)]
    pub references: Vec<String>,
    /// This project's error codes.
    #[serde(default)]
    pub codes: BTreeMap<String, Code>,
    /// Groups of vectors, each with a sentence: a class of bugs, or what a reader needs for them.
    pub flags: BTreeMap<String, String>,
    /// Flags of what a reader may leave out, each with a sentence.
    #[serde(default)]
    pub profiles: BTreeMap<String, String>,
    /// The rules of RULES.md.
    #[serde(default)]
    pub rules: BTreeMap<String, Rule>,
    /// The vectors.
    pub vectors: Vec<Vector>,
}

/// A rule of RULES.md.
#[derive(Clone, Debug, Deserialize)]
pub struct Rule {
    /// Where it comes from.
    pub source: Source,
    /// Its first sentence.
    pub rule: String,
}

/// Whose rule decides.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The format's published text.
    Text,
    /// RFC 8259.
    Json,
    /// Only the reference, which behaves so.
    #[default]
    Reference,
}

/// The smallest choice of vectors that contains a vector.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Rules of the text or of JSON; a reader that breaks one reads wrong data or corrupts memory.
    Core,
    /// All other vectors of at most 1 MiB.
    #[default]
    Full,
    /// The vectors of more than 1 MiB.
    Large,
}

/// One of this project's error codes.
#[derive(Clone, Debug, Deserialize)]
pub struct Code {
    /// The corresponding error class of the reference; `None` if the reference accepts the file.
    pub class: Option<String>,
}

/// The verdict that every reader should give.
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

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 3] = [Self::Valid, Self::Invalid, Self::Either];

    /// Returns the word for it, which is also the directory of its files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Either => "either",
        }
    }
}

/// This project's verdict.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Ours {
    /// The file is valid.
    Accept,
    /// The file is invalid.
    Reject,
}

impl Ours {
    /// Whether the file is accepted.
    pub fn accepts(self) -> bool {
        self == Self::Accept
    }

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        if self.accepts() { "accept" } else { "reject" }
    }
}

/// The verdict of one release of the reference: `ok` or a class, or several that occur at random.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Answers {
    /// Always this verdict.
    One(String),
    /// One of these verdicts.
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
    /// Its dtype, as in the header.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Begin and end, relative to the start of the data.
    pub data_offsets: [u64; 2],
    /// The SHA-256 of its bytes.
    pub sha256: String,
}

/// One conformance vector.
#[derive(Clone, Debug, Deserialize)]
pub struct Vector {
    /// The area and a short name.
    pub id: String,
    /// Its path in the directory of the vectors.
    pub file: Option<String>,
    /// The recipe, if the file is too large to be committed.
    pub recipe: Option<Recipe>,
    /// The file's length in bytes. A file that is longer than the address space has the longest length.
    #[serde(deserialize_with = "addressable")]
    pub length: usize,
    /// The SHA-256 of the file.
    pub sha256: String,
    /// The smallest choice of vectors that contains it.
    #[serde(default)]
    pub level: Level,
    /// Whether it is one of the few that catch most bugs.
    #[serde(default)]
    pub lite: bool,
    /// Whether the length and the header alone determine verdict and table.
    #[serde(default)]
    pub header_only: bool,
    /// The verdict that every reader should give.
    pub verdict: Verdict,
    /// Whose rule decides it.
    #[serde(default)]
    pub source: Source,
    /// What the format's published text says, where readers may differ and it says something.
    pub published: Option<Ours>,
    /// The id of a valid vector that is the same but for the fault.
    pub twin: Option<String>,
    /// Why that one differs in more than one short span.
    pub twin_differs: Option<String>,
    /// This project's verdict.
    pub ours: Ours,
    /// The code of this project's error.
    pub code: Option<String>,
    /// The byte at which this project reports it.
    pub at: Option<u64>,
    /// The number of rules that the file breaks; with one, the class of the error is certain too.
    pub faults: Option<u8>,
    /// The listed difference from the reference, if this is one.
    pub deviation: Option<String>,
    /// The rule that the vector tests.
    pub rule: String,
    /// Why the vector exists.
    pub reason: String,
    /// The groups that it belongs to.
    pub flags: Vec<String>,
    /// The verdict of each release of the reference.
    #[serde(default)]
    pub reference: BTreeMap<String, Answers>,
    /// The number of tensors of a recipe.
    pub tensor_count: Option<usize>,
    /// The tensors of a file that this project accepts.
    pub tensors: Option<Vec<TensorRow>>,
    /// `null` is compared too; a missing member is not.
    #[serde(default, deserialize_with = "even_null")]
    pub metadata: Option<Value>,
}

fn addressable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    u64::deserialize(deserializer).map(|length| usize::try_from(length).unwrap_or(usize::MAX))
}

fn even_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Vector {
    /// Returns the bytes of the file, from the repository or from its recipe.
    ///
    /// # Panics
    /// If the file cannot be read, or is not the one in the manifest.
    pub fn bytes(&self) -> Vec<u8> {
        let bytes = match (&self.file, &self.recipe) {
            (Some(file), None) => {
                std::fs::read(crate::folder().join(file)).map_err(|error| error.to_string())
            }
            (None, Some(recipe)) => recipe.expand(),
            _ => Err("it needs a file or a recipe, and not both".to_owned()),
        };
        let bytes = bytes.unwrap_or_else(|problem| panic!("{}: {problem}", self.id));
        assert_eq!((bytes.len(), &sha256(&bytes)), (self.length, &self.sha256), "{}", self.id);
        bytes
    }

    /// Whether the file has more than 1 MiB.
    pub fn is_large(&self) -> bool {
        self.level == Level::Large
    }

    /// Whether the file may be held in memory.
    pub fn fits_memory(&self) -> bool {
        self.length <= MOST_IN_MEMORY
    }

    /// Returns the table that a reader must report. That of a recipe is in the header that it makes.
    ///
    /// # Panics
    /// If the file of the recipe cannot be made, or its header is not what the manifest says.
    pub fn table(&self) -> Option<Table> {
        if self.recipe.is_some() && self.ours.accepts() {
            let table = Table::of_header(&self.bytes());
            return Some(table.unwrap_or_else(|| panic!("{}: its header is no table", self.id)));
        }
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

/// Returns the SHA-256 of the bytes in lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
