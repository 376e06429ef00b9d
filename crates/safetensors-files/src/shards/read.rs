//! Parses an index as a stream.

use super::counted::Counted;
use super::error::ShardErrorKind;
use super::index::ShardIndex;
use super::limits::ShardLimits;
use super::scan::{Exceeded, Scan};
use crate::error::EditErrorKind;
use core::fmt;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use std::collections::HashSet;
use std::io::{self, BufReader, Read};

/// Reads an index.
pub(super) fn read(reader: impl Read, limits: &ShardLimits) -> Result<ShardIndex, EditErrorKind> {
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(Scan::new(reader, limits)));
    let mut reading = Reading { index: ShardIndex::new(), limits, error: None };
    let outcome = Root(&mut reading).deserialize(&mut json).and_then(|()| json.end());
    match (reading.error, outcome) {
        (Some(kind), _) => Err(kind.into()),
        (None, Err(error)) => Err(json_error(error)),
        (None, Ok(())) => {
            let shards = reading.index.shards().len() as u64;
            Exceeded::check("shards", limits.shards, shards)?;
            Ok(reading.index)
        }
    }
}

fn json_error(error: serde_json::Error) -> EditErrorKind {
    if error.is_io() {
        let error = io::Error::from(error);
        return match error.downcast::<Exceeded>() {
            Ok(exceeded) => exceeded.into(),
            Err(error) => EditErrorKind::system("read", error),
        };
    }
    let (line, column) = (error.line(), error.column());
    let sentence = error.to_string();
    // Removes the position from the reason.
    let position = format!(" at line {line} column {column}");
    let reason = sentence.strip_suffix(&position).unwrap_or(&sentence).into();
    ShardErrorKind::Json { line, column, reason }.into()
}

struct Reading<'l> {
    index: ShardIndex,
    limits: &'l ShardLimits,
    /// The error, which does not fit in serde's errors.
    error: Option<ShardErrorKind>,
}

impl Reading<'_> {
    fn reject<E: serde::de::Error>(&mut self, kind: ShardErrorKind) -> E {
        self.error = Some(kind);
        E::custom("rejected")
    }
}

/// Reads the entire index.
struct Root<'r, 'l>(&'r mut Reading<'l>);
/// Reads the value of `metadata`.
struct Metadata<'r, 'l>(&'r mut Reading<'l>);
/// Reads the value of `weight_map`.
struct WeightMap<'r, 'l>(&'r mut Reading<'l>);

/// Implements a seed that visits an object; by `deserialize_option` also `null`, which counts as absent.
macro_rules! object {
    ($($name:ident: $method:ident, $expected:literal;)*) => {$(
        impl<'de> DeserializeSeed<'de> for $name<'_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.$method(self)
            }
        }

        impl<'de> Visitor<'de> for $name<'_, '_> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($expected)
            }

            fn visit_none<E>(self) -> Result<(), E> {
                Ok(())
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.deserialize_map(self)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
                self.read(map)
            }
        }
    )*};
}

object! {
    Root: deserialize_map, "an object with \"weight_map\"";
    Metadata: deserialize_option, "an object with the model's metadata";
    WeightMap: deserialize_map, "an object that maps tensor names to shard names";
}

impl Root<'_, '_> {
    fn read<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut has_metadata, mut has_weights) = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            let is_duplicate = match key.as_str() {
                "metadata" => core::mem::replace(&mut has_metadata, true),
                "weight_map" => core::mem::replace(&mut has_weights, true),
                _ => false,
            };
            match key.as_str() {
                _ if is_duplicate => return Err(self.0.reject(ShardErrorKind::Duplicate(key))),
                "metadata" => map.next_value_seed(Metadata(&mut *self.0))?,
                "weight_map" => map.next_value_seed(WeightMap(&mut *self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if has_weights { Ok(()) } else { Err(A::Error::custom("it has no \"weight_map\"")) }
    }
}

impl Metadata<'_, '_> {
    fn read<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut seen, mut count, limit) = (HashSet::new(), 0, self.0.limits.values);
        while count < limit {
            let Some(key) = map.next_key::<String>()? else { return Ok(()) };
            if !seen.insert(key.clone()) {
                return Err(self.0.reject(ShardErrorKind::Duplicate(key)));
            }
            let value = map.next_value_seed(Counted { count: &mut count, limit })?;
            if count <= limit {
                self.0.index.add_metadata(key, value).map_err(|kind| self.0.reject(kind))?;
            }
        }
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Counted { count: &mut count, limit })?;
        }
        let verdict = Exceeded::check("values in its metadata", limit, count);
        verdict.map_err(|exceeded| self.0.reject(exceeded.into()))
    }
}

impl WeightMap<'_, '_> {
    fn read<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut count = 0;
        while count < self.0.limits.tensors {
            let Some((tensor, shard)) = map.next_entry::<String, String>()? else { return Ok(()) };
            self.0.index.add(tensor, &shard).map_err(|kind| self.0.reject(kind))?;
            count += 1;
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        let verdict = Exceeded::check("tensors", self.0.limits.tensors, count);
        verdict.map_err(|exceeded| self.0.reject(exceeded.into()))
    }
}
