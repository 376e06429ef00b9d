//! Parses an index as a stream.

use super::counted::Counted;
use super::error::ShardErrorKind;
use super::index::ShardIndex;
use super::limits::ShardLimits;
use super::scan::{Scan, check};
use crate::error::EditErrorKind;
use core::fmt;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use std::collections::HashSet;
use std::io::{self, BufReader, Read};

/// Reads an index.
pub(super) fn read(reader: impl Read, limits: &ShardLimits) -> Result<ShardIndex, EditErrorKind> {
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(Scan::new(reader, limits)));
    let mut reading = Reading { index: ShardIndex::new(), limits, error: None };
    let outcome = Object(Part::Root, &mut reading).deserialize(&mut json).and_then(|()| json.end());
    match (reading.error, outcome) {
        (Some(kind), _) => Err(kind.into()),
        (None, Err(error)) => Err(json_error(error)),
        (None, Ok(())) => {
            let shards = reading.index.shards().len() as u64;
            check("shards", limits.shards, shards)?;
            Ok(reading.index)
        }
    }
}

fn json_error(error: serde_json::Error) -> EditErrorKind {
    if error.is_io() {
        let error = io::Error::from(error);
        return match error.downcast::<ShardErrorKind>() {
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

/// Reads an object of the index.
struct Object<'r, 'l>(Part, &'r mut Reading<'l>);

#[derive(Clone, Copy)]
enum Part {
    Root,
    Metadata,
    WeightMap,
}

impl<'de> DeserializeSeed<'de> for Object<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0 {
            // `null` counts as absent.
            Part::Metadata => deserializer.deserialize_option(self),
            _ => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for Object<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Part::Root => "an object with \"weight_map\"",
            Part::Metadata => "an object with the model's metadata",
            Part::WeightMap => "an object that maps tensor names to shard names",
        })
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        match self.0 {
            Part::Root => self.1.root(map),
            Part::Metadata => self.1.metadata(map),
            Part::WeightMap => self.1.weight_map(map),
        }
    }
}

impl Reading<'_> {
    fn root<'de, A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        let (mut has_metadata, mut has_weights) = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            let is_duplicate = match key.as_str() {
                "metadata" => core::mem::replace(&mut has_metadata, true),
                "weight_map" => core::mem::replace(&mut has_weights, true),
                _ => false,
            };
            match key.as_str() {
                _ if is_duplicate => return Err(self.reject(ShardErrorKind::Duplicate(key))),
                "metadata" => map.next_value_seed(Object(Part::Metadata, self))?,
                "weight_map" => map.next_value_seed(Object(Part::WeightMap, self))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if has_weights { Ok(()) } else { Err(A::Error::custom("it has no \"weight_map\"")) }
    }

    fn metadata<'de, A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        let (mut seen, mut count, limit) = (HashSet::new(), 0, self.limits.values);
        while count < limit {
            let Some(key) = map.next_key::<String>()? else { return Ok(()) };
            if !seen.insert(key.clone()) {
                return Err(self.reject(ShardErrorKind::Duplicate(key)));
            }
            let value = map.next_value_seed(Counted { count: &mut count, limit })?;
            if count <= limit {
                self.index.add_metadata(key, value).map_err(|kind| self.reject(kind))?;
            }
        }
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Counted { count: &mut count, limit })?;
        }
        let verdict = check("values in its metadata", limit, count);
        verdict.map_err(|kind| self.reject(kind))
    }

    fn weight_map<'de, A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        let mut count = 0;
        while count < self.limits.tensors {
            let Some((tensor, shard)) = map.next_entry::<String, String>()? else { return Ok(()) };
            self.index.add(tensor, &shard).map_err(|kind| self.reject(kind))?;
            count += 1;
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        let verdict = check("tensors", self.limits.tensors, count);
        verdict.map_err(|kind| self.reject(kind))
    }
}
