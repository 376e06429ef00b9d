//! The expectation of a vector, from the manifest.

use super::outcome::Verdict;
use super::tensors::{Tensor, means, tensors_with};
use embedded_safetensors::{
    header::Entry,
    metadata::{Metadata, Pair},
};
use heapless::LinearMap;
use serde::Deserialize;
use serde_json_core::de::Error as Reason;

/// The largest number of metadata pairs of a listed file.
const MOST_PAIRS: usize = 4;

/// A line of the manifest.
///
/// Its tensors are not kept: the line is decoded again for each lookup, so that it may have any number of
/// them.
pub struct Expectation<'l> {
    text: &'l [u8],
    line: Line<'l>,
    /// The number of listed tensors.
    listed: Option<u64>,
}

/// The small members that are needed; others are skipped.
///
/// Strings are borrowed from the line, with their escapes.
#[derive(Deserialize)]
struct Line<'l> {
    id: &'l str,
    length: u64,
    ours: Ours,
    code: Option<&'l str>,
    at: Option<u64>,
    tensor_count: Option<u64>,
    #[serde(borrow)]
    metadata: Option<LinearMap<&'l str, &'l str, MOST_PAIRS>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ours {
    Accept,
    Reject,
}

impl<'l> Expectation<'l> {
    /// Decodes a line, with or without the comma at its end.
    ///
    /// # Errors
    /// A member is missing or has the wrong type.
    #[inline(never)] // its stack is free again when it returns
    pub fn decode(line: &'l [u8]) -> Result<Self, Reason> {
        let text = line.strip_suffix(b",").unwrap_or(line);
        // Strings are borrowed with their escapes, so skipped ones may have any length and any escapes.
        let (line, _) = serde_json_core::from_slice(text)?;
        let expectation = Self { text, line, listed: tensors_with(text, |_| true)? };
        if expectation.verdict().is_some() { Ok(expectation) } else { Err(Reason::CustomError) }
    }

    /// Returns the vector's id.
    pub const fn id(&self) -> &'l str {
        self.line.id
    }

    /// Returns the length of the file in bytes.
    pub const fn length(&self) -> u64 {
        self.line.length
    }

    /// Returns the expected verdict; `None` if the manifest omits it, which it never does.
    pub fn verdict(&self) -> Option<Verdict<'l>> {
        match self.line.ours {
            Ours::Accept => Some(Verdict::Valid { tensors: self.line.tensor_count.or(self.listed)? }),
            Ours::Reject => Some(Verdict::Invalid { code: self.line.code?, at: self.line.at? }),
        }
    }

    /// Whether the file's contents are listed.
    pub const fn is_listed(&self) -> bool {
        self.listed.is_some()
    }

    /// Whether this tensor is listed.
    pub fn has_tensor(&self, entry: &Entry<'_>) -> bool {
        self.has(|tensor| tensor.is(entry))
    }

    /// Whether a listed tensor has more dimensions than a `Shape` can hold.
    pub fn has_long_shape(&self) -> bool {
        self.has(|tensor| tensor.is_long())
    }

    fn has(&self, mut holds: impl FnMut(&Tensor<'_>) -> bool) -> bool {
        tensors_with(self.text, |tensor| holds(tensor)).is_ok_and(|count| count > Some(0))
    }

    /// Whether these are the listed metadata.
    pub fn has_metadata(&self, found: Option<Metadata<'_>>) -> bool {
        match (&self.line.metadata, found) {
            (None, None) => true,
            (Some(listed), Some(mut found)) => {
                found.count() == listed.len() && found.all(|pair| is_among(listed, pair))
            }
            _ => false,
        }
    }
}

fn is_among(listed: &LinearMap<&str, &str, MOST_PAIRS>, found: Pair<'_>) -> bool {
    listed.iter().any(|(key, value)| means(key, found.key) && means(value, found.value))
}
