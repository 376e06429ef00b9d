//! Decodes `__metadata__` into a type of the caller.
//!
//! All values of `__metadata__` are strings. A string field gets the value unchanged. Any other field gets
//! the JSON that the value holds: `"12"` for a number, `"[1,2]"` for a list.

use crate::error::{Error, ErrorKind};
use crate::io::ReadError;
use crate::query::metadata::{Metadata, Pair};
use core::cell::Cell;
use core::fmt;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json_core::de::Error as Reason;

/// Why metadata could not be decoded.
///
/// *Memory*: at most 24 bytes, `Clone`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// How the value differs from the type.
    pub reason: Reason,
    /// The byte of the file where the offending value begins. `None` if the map itself is at fault, for
    /// example because a field is missing.
    pub at: Option<u64>,
}

sentences! {
    DecodeError:
    Self { reason, at: Some(at) } =>
        "the value of \"__metadata__\" at byte {} does not fit its type: {}", at, Foreign(reason);
    Self { reason, at: None } => "\"__metadata__\" does not fit its type: {}", Foreign(reason);
}

/// An error message of another crate. With `defmt`, the device formats it.
struct Foreign<'r>(&'r Reason);

impl fmt::Display for Foreign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Foreign<'_> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{}", defmt::Display2Format(self.0));
    }
}

impl core::error::Error for DecodeError {}

/// Why metadata could not be read as a type of the caller.
///
/// *Memory*: as [`ReadError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataError<E> {
    /// The metadata could not be read.
    Read(ReadError<E>),
    /// The metadata does not fit the type.
    Decode(DecodeError),
}

impl<E> From<ReadError<E>> for MetadataError<E> {
    fn from(error: ReadError<E>) -> Self {
        Self::Read(error)
    }
}

impl<E> From<Error> for MetadataError<E> {
    fn from(error: Error) -> Self {
        Self::Read(ReadError::Format(error))
    }
}

impl<E> From<DecodeError> for MetadataError<E> {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

sentences! {
    MetadataError<E>:
    Self::Read(error) => "{}", error;
    Self::Decode(error) => "{}", error;
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for MetadataError<E> {}

/// Decodes the JSON in `text`. Strings that contain escapes are unescaped in `scratch`.
///
/// # Errors
/// A [`DecodeError`] with `at` when the JSON does not fit the type; [`ErrorKind::MetadataLength`] when
/// `scratch` is too small.
pub(crate) fn from_text<'v, T: Deserialize<'v>, E>(
    text: &'v str,
    scratch: &mut [u8],
    at: u64,
) -> Result<T, MetadataError<E>> {
    match serde_json_core::from_str_escaped(text, scratch) {
        Ok((value, _)) => Ok(value),
        // No string in the text is longer than the text.
        Err(Reason::EscapedStringIsTooLong) => {
            Err(too_small(text.len(), text.len(), scratch.len()).at(at).into())
        }
        Err(reason) => Err(DecodeError { reason, at: Some(at) }.into()),
    }
}

/// Decodes all of `__metadata__`.
///
/// # Errors
/// A [`DecodeError`] when the metadata does not fit the type; [`ErrorKind::MetadataLength`] when `scratch`
/// is too small.
pub(crate) fn from_pairs<'v, T: Deserialize<'v>, E>(
    metadata: Metadata<'v>,
    scratch: &mut [u8],
) -> Result<T, MetadataError<E>> {
    let (at, capacity) = (Cell::new(None), scratch.len());
    let map = Map { left: metadata, value: None, scratch, at: &at };
    T::deserialize(map).map_err(|reason| match reason {
        Reason::EscapedStringIsTooLong => {
            let longest = metadata.map(|pair| pair.value.len()).max().unwrap_or(0);
            too_small(metadata.byte_len(), longest, capacity).at(at.get().unwrap_or(0)).into()
        }
        reason => DecodeError { reason, at: at.get() }.into(),
    })
}

/// The buffer holds `kept` bytes and has `room` bytes after them; `longest` bytes would have been enough.
const fn too_small(kept: usize, longest: usize, room: usize) -> ErrorKind {
    let kept = kept as u64;
    ErrorKind::MetadataLength { needed: kept + longest as u64, capacity: kept + room as u64 }
}

struct Map<'de, 's> {
    left: Metadata<'de>,
    /// The pair whose key has been taken.
    value: Option<Pair<'de>>,
    scratch: &'s mut [u8],
    /// Where the value that is being decoded begins.
    at: &'s Cell<Option<u64>>,
}

impl<'de> Deserializer<'de> for Map<'de, '_> {
    type Error = Reason;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Reason> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Map<'de, '_> {
    type Error = Reason;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Reason> {
        self.value = self.left.next();
        let key = self.value.map(|pair| BorrowedStrDeserializer::new(pair.key));
        key.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Reason> {
        let Some(Pair { value: text, at, .. }) = self.value else { return Err(de::Error::custom("")) };
        self.at.set(Some(at));
        let value = seed.deserialize(Value { text, scratch: &mut *self.scratch })?;
        self.at.set(None);
        Ok(value)
    }
}

struct Value<'de, 's> {
    text: &'de str,
    scratch: &'s mut [u8],
}

/// Every type except strings is decoded from the JSON in the text.
macro_rules! from_json {
    ($($method:ident($($argument:ident: $kind:ty),*);)*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $kind,)* visitor: V) -> Result<V::Value, Reason> {
            // The decoder would accept `null` as a number.
            if self.text.trim_ascii() == "null" {
                return Err(Reason::InvalidType);
            }
            let mut json = serde_json_core::de::Deserializer::new(self.text.as_bytes(), Some(self.scratch));
            let value = json.$method($($argument,)* visitor)?;
            json.end()?;
            Ok(value)
        })*
    };
}

impl<'de> Deserializer<'de> for Value<'de, '_> {
    type Error = Reason;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Reason> {
        visitor.visit_borrowed_str(self.text)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Reason> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Reason> {
        visitor.visit_newtype_struct(self)
    }

    /// The text names the variant.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Reason> {
        BorrowedStrDeserializer::new(self.text).deserialize_enum(name, variants, visitor)
    }

    from_json! {
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_f32();
        deserialize_f64();
        deserialize_seq();
        deserialize_map();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct identifier ignored_any
    }
}
