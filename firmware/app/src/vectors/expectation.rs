//! What the manifest says of a vector.

use super::outcome::Verdict;
use super::tensors::{Tensor, means, tensors_with};
use embedded_safetensors::{
    header::Entry,
    metadata::{Metadata, Pair},
};
use heapless::LinearMap;
use serde::Deserialize;
use serde_json_core::de::Error as Reason;

/// The most pairs that the metadata of a listed file have.
const MOST_PAIRS: usize = 4;

/// One line of the manifest.
///
/// The tensors in it are not kept: they are read anew for each that is looked for, so that there may be as many as the line holds.
pub struct Expectation<'l> {
    text: &'l [u8],
    line: Line<'l>,
    /// How many tensors are listed.
    listed: Option<u64>,
}

/// Those of its members that matter and are small. The others are skipped.
///
/// Texts are borrowed from the line, with the escapes that they have there.
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
    /// Reads a line, with or without the comma at its end.
    ///
    /// # Errors
    /// What is missing, or of another kind.
    #[inline(never)] // its stack is free again when it returns
    pub fn decode(line: &'l [u8]) -> Result<Self, Reason> {
        let text = line.strip_suffix(b",").unwrap_or(line);
        // Strings come as they stand there, so that those that are skipped may be of any length and have any escapes.
        let (line, _) = serde_json_core::from_slice(text)?;
        let expectation = Self { text, line, listed: tensors_with(text, |_| true)? };
        if expectation.verdict().is_some() { Ok(expectation) } else { Err(Reason::CustomError) }
    }

    /// Area and what.
    pub const fn id(&self) -> &'l str {
        self.line.id
    }

    /// Bytes of the file.
    pub const fn length(&self) -> u64 {
        self.line.length
    }

    /// What this project's reader must say; nothing where the manifest leaves it open, which it never does.
    pub fn verdict(&self) -> Option<Verdict<'l>> {
        match self.line.ours {
            Ours::Accept => Some(Verdict::Sound { tensors: self.line.tensor_count.or(self.listed)? }),
            Ours::Reject => Some(Verdict::Unsound { code: self.line.code?, at: self.line.at? }),
        }
    }

    /// Whether it is listed what the file holds.
    pub const fn is_listed(&self) -> bool {
        self.listed.is_some()
    }

    /// Whether this tensor is listed.
    pub fn has_tensor(&self, entry: &Entry<'_>) -> bool {
        self.has(|tensor| tensor.is(entry))
    }

    /// Whether a tensor is listed that has more dimensions than a shape holds.
    pub fn has_long_shape(&self) -> bool {
        self.has(|tensor| tensor.is_long())
    }

    fn has(&self, mut holds: impl FnMut(&Tensor<'_>) -> bool) -> bool {
        tensors_with(self.text, |tensor| holds(tensor)).is_ok_and(|count| count > Some(0))
    }

    /// Whether these are the metadata of a file whose tensors are listed.
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
