//! The conformance vectors of `tests/vectors`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::recipe::Recipe;
use crate::table::{Table, Tensor};

/// The whole of `manifest.json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Manifest {
    /// The releases of the reference that were asked, oldest first.
    pub references: Vec<String>,
    /// The reference's classes of errors: abbreviation, and the name in its source.
    pub classes: BTreeMap<String, String>,
    /// This project's codes of errors.
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
#[derive(Clone, Debug, Deserialize)]
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
    file: Option<String>,
    recipe: Option<Recipe>,
    /// Bytes of the file.
    pub length: usize,
    sha256: String,
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
    pub reference: BTreeMap<String, Answers>,
    /// How many tensors there are, where they are too many to list.
    pub tensor_count: Option<usize>,
    /// The tensors of a file that this project accepts.
    pub tensors: Option<Vec<TensorRow>>,
    metadata: Option<BTreeMap<String, String>>,
}

/// The folder of the vectors.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// The manifest of the committed vectors.
///
/// # Panics
/// When it cannot be read: no test of vectors means anything then.
pub fn load() -> Manifest {
    let path = folder().join("manifest.json");
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The vectors that are made by recipes.
pub fn recipes() -> impl Iterator<Item = Vector> {
    load().vectors.into_iter().filter(|vector| vector.recipe.is_some())
}

impl Vector {
    /// The bytes of the file, read or made anew, and compared with their checksum.
    ///
    /// # Panics
    /// When the file cannot be read or is not the one that the manifest means.
    pub fn bytes(&self) -> Vec<u8> {
        let bytes = self.find_bytes().unwrap_or_else(|problem| panic!("{}: {problem}", self.id));
        assert_eq!(
            bytes.len(),
            self.length,
            "{}: the file has another length than the manifest says",
            self.id
        );
        assert_eq!(
            sha256(&bytes),
            self.sha256,
            "{}: the file is not the one that the manifest means",
            self.id
        );
        bytes
    }

    fn find_bytes(&self) -> Result<Vec<u8>, String> {
        match (&self.file, &self.recipe) {
            (Some(file), None) => std::fs::read(folder().join(file)).map_err(|error| error.to_string()),
            (None, Some(recipe)) => recipe.expand(self.length),
            _ => Err("needs a file or a recipe, and not both".to_owned()),
        }
    }

    /// The area: the first word of the id.
    pub fn area(&self) -> &str {
        self.id.split_once('-').map_or(&self.id, |(area, _)| area)
    }

    /// What a reader must report, where the manifest lists it.
    pub fn table(&self) -> Option<Table> {
        let tensors = self.tensors.as_ref()?.iter().map(TensorRow::tensor).collect();
        Some(Table { tensors, metadata: self.metadata.clone() }.sorted())
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
