//! Decodes the tensors in a line of the manifest, one at a time.

use core::fmt;
use embedded_safetensors::{Dtype, Shape, TensorInfo, header::Entry};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json_core::de::Error as Reason;
use serde_json_core::str::{EscapedStr, EscapedStringFragment};

/// The member of a line with the tensors.
const KEY: &str = "tensors";

/// A listed tensor. Its strings are borrowed from the line, with their escapes.
#[derive(Deserialize)]
pub struct Tensor<'l> {
    name: &'l str,
    dtype: &'l str,
    shape: Dims,
    data_offsets: (u64, u64),
}

impl Tensor<'_> {
    /// Whether it is the tensor that was found.
    pub fn is(&self, entry: &Entry<'_>) -> bool {
        means(self.name, entry.name()) && self.info().is_some_and(|info| info == entry.info)
    }

    /// Whether it has more dimensions than a `Shape` can hold.
    pub const fn is_long(&self) -> bool {
        self.shape.0.is_none()
    }

    fn info(&self) -> Option<TensorInfo> {
        let dtype = Dtype::from_name(self.dtype.as_bytes())?;
        let (begin, end) = self.data_offsets;
        TensorInfo::new(dtype, self.shape.0?, begin, end).ok()
    }
}

/// Whether a string with escapes is this text; compares without memory to unescape it.
pub fn means(escaped: &str, text: &str) -> bool {
    let mut rest = text;
    for fragment in EscapedStr(escaped).fragments() {
        let after = match fragment {
            Ok(EscapedStringFragment::NotEscaped(text)) => rest.strip_prefix(text),
            Ok(EscapedStringFragment::Escaped(character)) => rest.strip_prefix(character),
            // An unpaired surrogate: the decoder does not combine pairs, and the manifest has none.
            Err(_) => None,
        };
        let Some(after) = after else { return false };
        rest = after;
    }
    rest.is_empty()
}

/// Counts the listed tensors for which `holds` is true; `None` if the line lists no tensors.
///
/// # Errors
/// The line or the list is invalid.
pub fn tensors_with(line: &[u8], mut holds: impl FnMut(&Tensor<'_>) -> bool) -> Result<Option<u64>, Reason> {
    let mut decoder = serde_json_core::de::Deserializer::new(line, None);
    decoder.deserialize_map(LineVisitor(&mut holds))
}

/// The condition for each tensor.
type Holds<'h> = &'h mut dyn FnMut(&Tensor<'_>) -> bool;

struct LineVisitor<'h>(Holds<'h>);

impl<'de> Visitor<'de> for LineVisitor<'_> {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a vector")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<u64>, A::Error> {
        let mut count = None;
        while let Some(key) = members.next_key::<&str>()? {
            if key == KEY {
                count = Some(members.next_value_seed(List(self.0))?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(count)
    }
}

struct List<'h>(Holds<'h>);

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, list: D) -> Result<u64, D::Error> {
        list.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tensors")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut tensors: A) -> Result<u64, A::Error> {
        let mut count = 0;
        while let Some(tensor) = tensors.next_element()? {
            count += u64::from((self.0)(&tensor));
        }
        Ok(count)
    }
}

/// A shape; `None` if it has more dimensions than a `Shape` can hold.
struct Dims(Option<Shape>);

impl<'de> Deserialize<'de> for Dims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(DimsVisitor)
    }
}

struct DimsVisitor;

impl<'de> Visitor<'de> for DimsVisitor {
    type Value = Dims;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("dimensions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut dims: A) -> Result<Dims, A::Error> {
        let mut shape = Some(Shape::SCALAR);
        while let Some(dim) = dims.next_element()? {
            shape = shape.and_then(|mut shape| shape.push(dim).ok().map(|()| shape));
        }
        Ok(Dims(shape))
    }
}
