//! Writes JSON as `json.dump(index, file, indent=2)` does in Python: two spaces per level, and only ASCII
//! characters.

use super::index::ShardIndex;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::ser::{Formatter, PrettyFormatter};
use std::io::{self, BufWriter, Write};

pub(super) fn write(index: &ShardIndex, writer: impl Write) -> io::Result<()> {
    let mut writer = BufWriter::new(writer);
    let formatter = PythonFormatter(PrettyFormatter::with_indent(b"  "));
    IndexJson(index).serialize(&mut serde_json::Serializer::with_formatter(&mut writer, formatter))?;
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

/// A pretty formatter that also escapes as Python does.
struct PythonFormatter(PrettyFormatter<'static>);

impl Formatter for PythonFormatter {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        let mut units = [0; 2];
        text.chars().try_for_each(|letter| match letter {
            ' '..='~' => writer.write_all(letter.encode_utf8(&mut [0; 4]).as_bytes()),
            _ => letter.encode_utf16(&mut units).iter().try_for_each(|unit| write!(writer, "\\u{unit:04x}")),
        })
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}
