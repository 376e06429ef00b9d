//! Finds the forms on the list of deviations in a header with a JSON library that keeps every pair,
//! independently of this project's parser.

use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// A JSON value that keeps all equal keys.
#[derive(Deserialize)]
#[serde(untagged)]
enum Json {
    Object(Members),
    Array(Vec<Json>),
    Other(IgnoredAny),
}

/// The listed forms in a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forms {
    /// D1: two tensors of one name.
    pub duplicate_name: bool,
    /// D2: two equal keys in the metadata.
    pub duplicate_key: bool,
    /// D3: an entry that is an array.
    pub array_entry: bool,
    /// D4: a dtype that is an object.
    pub dtype_object: bool,
}

/// Returns the forms in the header of a file; `None` where its JSON cannot be read.
pub fn forms(file: &[u8]) -> Option<Forms> {
    let (length, rest) = file.split_first_chunk()?;
    let header = rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let Json::Object(Members(members)) = serde_json::from_slice(header).ok()? else { return None };
    let is_metadata = |(name, _): &&(String, Json)| name == "__metadata__";
    let entries = || members.iter().filter(|member| !is_metadata(member)).map(|(_, entry)| entry);
    Some(Forms {
        duplicate_name: has_duplicates(&members),
        duplicate_key: members.iter().filter(is_metadata).any(|(_, pairs)| has_duplicates(pairs.members())),
        array_entry: entries().any(|entry| matches!(entry, Json::Array(_))),
        dtype_object: entries().any(|entry| entry.members().iter().any(is_dtype_object)),
    })
}

/// Whether an object of this JSON has duplicate keys, at any depth; `None` if it cannot be read.
pub fn has_duplicate_keys(text: &[u8]) -> Option<bool> {
    Some(serde_json::from_slice::<Json>(text).ok()?.repeats_a_key())
}

fn has_duplicates(members: &[(String, Json)]) -> bool {
    let mut seen = HashSet::new();
    !members.iter().all(|(key, _)| seen.insert(key))
}

fn is_dtype_object((key, value): &(String, Json)) -> bool {
    key == "dtype" && matches!(value, Json::Object(_))
}

impl Json {
    fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(Members(members)) => members,
            Self::Array(_) | Self::Other(_) => &[],
        }
    }

    fn repeats_a_key(&self) -> bool {
        match self {
            Self::Object(Members(members)) => {
                has_duplicates(members) || members.iter().any(|(_, value)| value.repeats_a_key())
            }
            Self::Array(values) => values.iter().any(Self::repeats_a_key),
            Self::Other(_) => false,
        }
    }
}

/// Pairs of an object in their order.
struct Members(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Members, A::Error> {
                let mut members = vec![];
                while let Some(member) = access.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}
