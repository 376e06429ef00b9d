//! Writes JSON as `json.dump(index, file, indent=2)` does in Python: two spaces per level, and only ASCII
//! characters.

use super::index::ShardIndex;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::io::{self, BufWriter, Write};

pub(super) fn write(index: &ShardIndex, writer: impl Write) -> io::Result<()> {
    let (mut writer, mut units) = (BufWriter::new(writer), [0; 2]);
    // What is not ASCII is in strings.
    serde_json::to_string_pretty(&IndexJson(index))?.chars().try_for_each(|letter| match letter {
        '\n' | ' '..='~' => writer.write_all(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        _ => letter.encode_utf16(&mut units).iter().try_for_each(|unit| write!(writer, "\\u{unit:04x}")),
    })?;
    writer.flush()
}

struct IndexJson<'i>(&'i ShardIndex);
struct Pairs<I>(I);

impl Serialize for IndexJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("metadata", &Pairs(|| self.0.metadata()))?;
        map.serialize_entry("weight_map", &Pairs(|| self.0.tensors()))?;
        map.end()
    }
}

impl<K: Serialize, V: Serialize, I: Iterator<Item = (K, V)>, F: Fn() -> I> Serialize for Pairs<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map((self.0)())
    }
}
