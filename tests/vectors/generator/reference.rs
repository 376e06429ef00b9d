//! What five releases of the reference say about a file.

use std::collections::BTreeMap;
use std::panic::catch_unwind;

use crate::codes::CLASSES;

/// What a reader must report of a sound file.
pub struct Table {
    /// In the order of their offsets, then of their names.
    pub tensors: Vec<Tensor>,
    /// The pairs of `__metadata__`, if it is there.
    pub metadata: Option<BTreeMap<String, String>>,
}

/// One tensor of a file.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Tensor {
    /// Begin and end in the data.
    pub offsets: (usize, usize),
    /// Its name.
    pub name: String,
    /// Its dtype, as the header spells it.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// The verdict of one release: sound, or the class of the error.
pub type Verdict = Result<(), String>;

/// One release of the reference.
pub struct Release {
    /// Its version.
    pub version: &'static str,
    judge: fn(&[u8]) -> Result<(), String>,
}

/// All releases, oldest first; the last one is the reference proper.
pub const RELEASES: &[Release] = &[
    Release { version: "0.4.5", judge: |file| named(safetensors_0_4::SafeTensors::read_metadata(file)) },
    Release { version: "0.5.3", judge: |file| named(safetensors_0_5::SafeTensors::read_metadata(file)) },
    Release { version: "0.6.2", judge: |file| named(safetensors_0_6::SafeTensors::read_metadata(file)) },
    Release { version: "0.7.0", judge: |file| named(safetensors_0_7::SafeTensors::read_metadata(file)) },
    Release { version: "0.8.0", judge: |file| named(safetensors_0_8::SafeTensors::read_metadata(file)) },
];

impl Release {
    /// The class of the error abbreviated, or `panic`.
    pub fn verdict(&self, file: &[u8]) -> Verdict {
        match catch_unwind(|| (self.judge)(file)) {
            Ok(verdict) => verdict.map_err(|name| abbreviated(&name)),
            Err(_) => Err("panic".to_owned()),
        }
    }
}

/// The tensors and the metadata that the reference reads from a sound file.
pub fn table(file: &[u8]) -> Result<Table, String> {
    let (_, header) = safetensors_0_8::SafeTensors::read_metadata(file).map_err(|error| error.to_string())?;
    let mut tensors: Vec<Tensor> = header
        .tensors()
        .into_iter()
        .map(|(name, info)| Tensor {
            offsets: info.data_offsets,
            name,
            dtype: info.dtype.to_string(),
            shape: info.shape.clone(),
        })
        .collect();
    tensors.sort();
    let metadata = header.metadata().clone().map(|pairs| pairs.into_iter().collect());
    Ok(Table { tensors, metadata })
}

/// The name of the error's variant: the first word of its debug form, alike in all releases.
fn named<T, E: std::fmt::Debug>(outcome: Result<T, E>) -> Result<(), String> {
    outcome
        .map(drop)
        .map_err(|error| format!("{error:?}").chars().take_while(|c| c.is_ascii_alphanumeric()).collect())
}

fn abbreviated(name: &str) -> String {
    let class = CLASSES.iter().find(|(_, full)| *full == name);
    class.map_or_else(|| name.to_owned(), |(short, _)| (*short).to_owned())
}
