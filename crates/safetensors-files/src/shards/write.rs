//! Writes JSON as `json.dump(index, file, indent=2)` does in Python: two spaces per level, and only ASCII
//! characters.

use super::index::ShardIndex;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::io::{self, BufWriter, Write};

pub(super) fn write(index: &ShardIndex, writer: impl Write) -> io::Result<()> {
    let mut writer = Ascii(BufWriter::new(writer));
    serde_json::to_writer_pretty(&mut writer, &IndexJson(index))?;
    writer.flush()
}

/// Escapes what is not ASCII, which is in strings. `serde_json` writes whole characters.
struct Ascii<W>(W);

impl<W: Write> Write for Ascii<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let (written, mut units) = (text.len(), [0; 2]);
        let text = std::str::from_utf8(text).map_err(|_| io::ErrorKind::InvalidData)?;
        text.chars().try_for_each(|letter| match letter {
            '\n' | ' '..='~' => self.0.write_all(letter.encode_utf8(&mut [0; 4]).as_bytes()),
            _ => letter.encode_utf16(&mut units).iter().try_for_each(|unit| write!(self.0, "\\u{unit:04x}")),
        })?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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
