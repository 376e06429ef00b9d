//! What the manifest says of a vector.

use super::outcome::Verdict;
use core::fmt;
use embedded_safetensors::{Dtype, Entry, MAX_RANK, Metadata, Pair, Shape, TensorInfo};
use heapless::{LinearMap, Vec};
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json_core::de::Error as Reason;
use serde_json_core::str::{EscapedStr, EscapedStringFragment};

/// The most tensors that are listed of a file; of one that has more, the manifest only says how many.
const MOST_TENSORS: usize = 24;

/// The most pairs that the metadata of a listed file have.
const MOST_PAIRS: usize = 4;

/// One line of the manifest: those of its members that matter here. The others are skipped.
///
/// Its texts are borrowed from the line, with the escapes that they have there.
#[derive(Deserialize)]
pub struct Expectation<'l> {
    /// Area and what.
    pub id: &'l str,
    /// Bytes of the file.
    pub length: u64,
    ours: Ours,
    code: Option<&'l str>,
    at: Option<u64>,
    tensor_count: Option<u64>,
    #[serde(borrow)]
    tensors: Option<Vec<Tensor<'l>, MOST_TENSORS>>,
    #[serde(borrow)]
    metadata: Option<LinearMap<&'l str, &'l str, MOST_PAIRS>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ours {
    Accept,
    Reject,
}

/// A tensor that is listed.
#[derive(Deserialize)]
pub struct Tensor<'l> {
    name: &'l str,
    dtype: &'l str,
    shape: Dims,
    data_offsets: (u64, u64),
}

/// A shape; nothing where it has more dimensions than fit into one.
struct Dims(Option<Shape>);

impl<'l> Expectation<'l> {
    /// Reads a line, with or without the comma at its end.
    ///
    /// # Errors
    /// What is missing, or of another kind.
    pub fn decode(line: &'l [u8]) -> Result<Self, Reason> {
        let line = line.strip_suffix(b",").unwrap_or(line);
        // Strings come as they stand there, so that those that are skipped may be of any length and have any escapes.
        let (expectation, _) = serde_json_core::from_slice::<Self>(line)?;
        if expectation.verdict().is_some() { Ok(expectation) } else { Err(Reason::CustomError) }
    }

    /// What this project's reader must say; nothing where the manifest leaves it open, which it never does.
    pub fn verdict(&self) -> Option<Verdict<'l>> {
        match self.ours {
            Ours::Accept => Some(Verdict::Sound { tensors: self.count()? }),
            Ours::Reject => Some(Verdict::Unsound { code: self.code?, at: self.at? }),
        }
    }

    fn count(&self) -> Option<u64> {
        self.tensor_count.or(self.tensors.as_ref().map(|tensors| tensors.len() as u64))
    }

    /// The tensors of a sound file, if they are listed.
    pub fn tensors(&self) -> Option<&[Tensor<'l>]> {
        self.tensors.as_deref()
    }

    /// Whether these are the metadata of a file whose tensors are listed.
    pub fn has_metadata(&self, found: Option<Metadata<'_>>) -> bool {
        match (&self.metadata, found) {
            (None, None) => true,
            (Some(listed), Some(mut found)) => {
                found.count() == listed.len() && found.all(|pair| is_among(listed, pair))
            }
            _ => false,
        }
    }

    /// Whether there is a tensor that no [`Shape`] can hold.
    pub fn has_long_shapes(&self) -> bool {
        self.tensors().unwrap_or_default().iter().any(|tensor| tensor.shape.0.is_none())
    }
}

impl Tensor<'_> {
    /// Whether this is what was found.
    pub fn is(&self, entry: &Entry<'_>) -> bool {
        means(self.name, entry.name()) && self.info().is_some_and(|info| info == entry.info)
    }

    fn info(&self) -> Option<TensorInfo> {
        let dtype = Dtype::from_name(self.dtype.as_bytes())?;
        let (begin, end) = self.data_offsets;
        TensorInfo::new(dtype, self.shape.0?, begin, end).ok()
    }
}

fn is_among(listed: &LinearMap<&str, &str, MOST_PAIRS>, found: Pair<'_>) -> bool {
    listed.iter().any(|(key, value)| means(key, found.key) && means(value, found.value))
}

/// Whether a text with escapes is this one, without memory to unescape it in.
fn means(escaped: &str, text: &str) -> bool {
    let mut rest = text;
    for fragment in EscapedStr(escaped).fragments() {
        let behind = match fragment {
            Ok(EscapedStringFragment::NotEscaped(text)) => rest.strip_prefix(text),
            Ok(EscapedStringFragment::Escaped(character)) => rest.strip_prefix(character),
            Err(_) => None, // half a character: the decoder knows no pairs of surrogates, and the manifest has none
        };
        let Some(behind) = behind else { return false };
        rest = behind;
    }
    rest.is_empty()
}

impl<'de> Deserialize<'de> for Dims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(DimsVisitor)
    }
}

struct DimsVisitor;

impl<'de> Visitor<'de> for DimsVisitor {
    type Value = Dims;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dimensions, of which at most {MAX_RANK} are kept")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut dims: A) -> Result<Dims, A::Error> {
        let mut shape = Some(Shape::SCALAR);
        while let Some(dim) = dims.next_element()? {
            shape = shape.and_then(|mut shape| shape.push(dim).ok().map(|()| shape));
        }
        Ok(Dims(shape))
    }
}
