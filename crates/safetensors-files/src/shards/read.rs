//! An index, understood as it comes by.

use super::counted::Counted;
use super::error::ShardErrorKind;
use super::index::ShardIndex;
use super::limits::{ShardLimit, ShardLimits};
use super::scan::{Exceeded, Scan};
use core::fmt;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use std::collections::HashSet;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Reads an index.
///
/// # Errors
/// What is wrong with it; what `path` is read with, of the file there.
pub(super) fn read(
    reader: impl Read,
    path: &Path,
    limits: &ShardLimits,
) -> Result<ShardIndex, ShardErrorKind> {
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(Scan::new(reader, limits)));
    let mut reading = Reading { index: ShardIndex::new(), limits, fault: None };
    let outcome = Whole(&mut reading).deserialize(&mut json).and_then(|()| json.end());
    match (reading.fault, outcome) {
        (Some(fault), _) => Err(fault),
        (None, Err(error)) => Err(refusal(error, path)),
        (None, Ok(())) => {
            let shards = reading.index.shards().len() as u64;
            Exceeded::of(ShardLimit::Shards, limits, shards)?;
            Ok(reading.index)
        }
    }
}

fn refusal(error: serde_json::Error, path: &Path) -> ShardErrorKind {
    if error.is_io() {
        let error = io::Error::from(error);
        return match error.downcast::<Exceeded>() {
            Ok(exceeded) => exceeded.into(),
            Err(error) => ShardErrorKind::system("read", path, error),
        };
    }
    let (line, column) = (error.line(), error.column());
    let sentence = error.to_string();
    // The place is told apart from the reason.
    let place = format!(" at line {line} column {column}");
    ShardErrorKind::Json { line, column, reason: sentence.strip_suffix(&place).unwrap_or(&sentence).into() }
}

struct Reading<'l> {
    index: ShardIndex,
    limits: &'l ShardLimits,
    /// What serde's errors have no room for.
    fault: Option<ShardErrorKind>,
}

impl Reading<'_> {
    fn refuse<E: serde::de::Error>(&mut self, fault: ShardErrorKind) -> E {
        self.fault = Some(fault);
        E::custom("refused")
    }
}

/// The whole text.
struct Whole<'r, 'l>(&'r mut Reading<'l>);
/// What `metadata` holds.
struct Metadata<'r, 'l>(&'r mut Reading<'l>);
/// What `weight_map` holds.
struct WeightMap<'r, 'l>(&'r mut Reading<'l>);

/// A seed that is a visitor of an object.
macro_rules! object {
    ($($name:ident: $expected:literal;)*) => {$(
        impl<'de> DeserializeSeed<'de> for $name<'_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.deserialize_map(self)
            }
        }

        impl<'de> Visitor<'de> for $name<'_, '_> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($expected)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
                self.read(map)
            }
        }
    )*};
}

object! {
    Whole: "an object with \"weight_map\"";
    Metadata: "an object of what is known of the model";
    WeightMap: "an object of the names of tensors and shards";
}

/// [`Metadata`], or `null`, which is as none.
struct Perhaps<'r, 'l>(&'r mut Reading<'l>);

impl<'de> DeserializeSeed<'de> for Perhaps<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Perhaps<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of what is known of the model, or null")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        Metadata(self.0).deserialize(deserializer)
    }
}

impl Whole<'_, '_> {
    fn read<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut has_metadata, mut has_weights) = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            let is_twice = match key.as_str() {
                "metadata" => core::mem::replace(&mut has_metadata, true),
                "weight_map" => core::mem::replace(&mut has_weights, true),
                _ => false,
            };
            match key.as_str() {
                _ if is_twice => return Err(self.0.refuse(ShardErrorKind::Twice { name: key })),
                "metadata" => map.next_value_seed(Perhaps(&mut *self.0))?,
                "weight_map" => map.next_value_seed(WeightMap(&mut *self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if has_weights { Ok(()) } else { Err(A::Error::custom("it has no \"weight_map\"")) }
    }
}

impl Metadata<'_, '_> {
    fn read<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut seen, mut count, most) = (HashSet::new(), 0, self.0.limits.values);
        while count < most {
            let Some(key) = map.next_key::<String>()? else { return Ok(()) };
            if !seen.insert(key.clone()) {
                return Err(self.0.refuse(ShardErrorKind::Twice { name: key }));
            }
            let value = map.next_value_seed(Counted { count: &mut count, most })?;
            if count <= most {
                self.0.index.add_metadata(key, value).map_err(|fault| self.0.refuse(fault))?;
            }
        }
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Counted { count: &mut count, most })?;
        }
        let verdict = Exceeded::of(ShardLimit::Values, self.0.limits, count);
        verdict.map_err(|exceeded| self.0.refuse(exceeded.into()))
    }
}

impl WeightMap<'_, '_> {
    fn read<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut count = 0;
        while count < self.0.limits.tensors {
            let Some((tensor, shard)) = map.next_entry::<String, String>()? else { return Ok(()) };
            self.0.index.add(tensor, &shard).map_err(|fault| self.0.refuse(fault))?;
            count += 1;
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        let verdict = Exceeded::of(ShardLimit::Tensors, self.0.limits, count);
        verdict.map_err(|exceeded| self.0.refuse(exceeded.into()))
    }
}
