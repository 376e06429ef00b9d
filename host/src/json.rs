//! JSON for standard output: one value a line, safe on a terminal.
// `Object` and what belongs to it goes when all commands print types.
#![allow(dead_code)]

use crate::text::is_plain;
use serde::{Serialize, Serializer};
use serde_json::ser::{CharEscape, Formatter};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes a value on one line.
///
/// # Errors
/// Those of `out`.
pub fn print(out: &mut (impl Write + ?Sized), value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, Escaped))?;
    out.write_all(b"\n")
}

/// Writes a value with each item of the arrays of these names on a line of its own.
///
/// # Errors
/// Those of `out`.
pub fn print_lines(out: &mut impl Write, value: &impl Serialize, names: &[&str]) -> io::Result<()> {
    let lines = Lines { names, name: String::new(), is_name: false, arrays: Vec::new() };
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, lines))?;
    out.write_all(b"\n")
}

/// Writes an object whose last member is written by `write`, because it may be too long for memory.
///
/// # Errors
/// Those of `out` and of `write`; the line is ended then, too.
pub fn print_with<W: Write, E: From<io::Error>>(
    out: &mut W,
    value: &impl Serialize,
    (key, write): (&str, impl FnOnce(&mut W) -> Result<(), E>),
) -> Result<(), E> {
    let mut begun = Vec::new();
    print(&mut begun, value)?;
    let members = begun.strip_suffix(b"}\n").unwrap_or(&begun);
    out.write_all(members)?;
    write!(out, ",\"{key}\":")?;
    let written = write(out);
    out.write_all(b"}\n")?;
    written
}

/// An object about a file: its name, whether it is good, and further members.
#[derive(Serialize)]
pub struct About<'a, T> {
    pub file: &'a str,
    pub ok: bool,
    #[serde(flatten)]
    pub more: T,
}

/// An array of the items of an iterator, which is not collected.
#[derive(Clone)]
pub struct List<I>(pub I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for List<I> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.clone())
    }
}

/// An object of the pairs of an iterator, which is not collected.
#[derive(Clone)]
pub struct Map<I>(pub I);

impl<K: Serialize, V: Serialize, I: Iterator<Item = (K, V)> + Clone> Serialize for Map<I> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.clone())
    }
}

/// Writes characters that are unsafe on a terminal as numbers.
struct Escaped;

impl Formatter for Escaped {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut plain = fragment;
        while let Some((at, character)) = plain.char_indices().find(|&(_, character)| !is_plain(character)) {
            out.write_all(&plain.as_bytes()[..at])?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            plain = &plain[at + character.len_utf8()..];
        }
        out.write_all(plain.as_bytes())
    }

    fn write_char_escape<W: Write + ?Sized>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        let control = match escape {
            CharEscape::Quote => return out.write_all(b"\\\""),
            CharEscape::ReverseSolidus => return out.write_all(b"\\\\"),
            CharEscape::Solidus => return out.write_all(b"/"),
            CharEscape::Backspace => 8,
            CharEscape::Tab => 9,
            CharEscape::LineFeed => 10,
            CharEscape::FormFeed => 12,
            CharEscape::CarriageReturn => 13,
            CharEscape::AsciiControl(control) => control,
        };
        write!(out, "\\u{control:04x}")
    }
}

/// Begins a line for each item of some arrays.
struct Lines<'n> {
    names: &'n [&'n str],
    /// The last name of a member, and whether it is being written.
    name: String,
    is_name: bool,
    /// Whether the items of each open array have lines.
    arrays: Vec<bool>,
}

impl Formatter for Lines<'_> {
    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        (self.name, self.is_name) = (String::new(), true);
        if first { Ok(()) } else { out.write_all(b",") }
    }

    fn end_object_key<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_name = false;
        Ok(())
    }

    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if self.is_name {
            self.name.push_str(fragment);
        }
        Escaped.write_string_fragment(out, fragment)
    }

    fn write_char_escape<W: Write + ?Sized>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        Escaped.write_char_escape(out, escape)
    }

    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.arrays.push(self.names.contains(&&*self.name));
        out.write_all(b"[")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        out.write_all(if first { b"" } else { b"," })?;
        out.write_all(if self.arrays.last() == Some(&true) { b"\n" } else { b"" })
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.arrays.pop();
        out.write_all(b"]")
    }
}

/// Writes strings that arrive in pieces, without quotes. Escapes characters that are unsafe on a terminal.
#[derive(Default)]
pub struct Pieces {
    /// The beginning of a character that the last piece cut.
    cut: Vec<u8>,
}

impl Pieces {
    pub fn write(&mut self, out: &mut impl Write, piece: &[u8]) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.cut);
        bytes.extend_from_slice(piece);
        let (text, cut) = whole_characters(&bytes);
        self.cut.extend_from_slice(cut);
        let mut plain = text;
        while let Some((index, character)) =
            plain.char_indices().find(|&(_, character)| is_special(character))
        {
            let mut escaped = String::new();
            escape(&mut escaped, character);
            write!(out, "{}{escaped}", &plain[..index])?;
            plain = &plain[index + character.len_utf8()..];
        }
        out.write_all(plain.as_bytes())
    }
}

/// The complete characters, and the incomplete one at the end.
fn whole_characters(bytes: &[u8]) -> (&str, &[u8]) {
    match bytes.utf8_chunks().next() {
        Some(chunk) => (chunk.valid(), &bytes[chunk.valid().len()..]),
        None => ("", &[]),
    }
}

fn is_special(character: char) -> bool {
    matches!(character, '"' | '\\') || !is_plain(character)
}

/// An object, member by member, in the given order.
pub struct Object(String);

impl Object {
    pub fn new() -> Self {
        Self(String::from("{"))
    }

    pub fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, &quoted(value))
    }

    pub fn number(self, key: &str, value: impl Into<u128>) -> Self {
        self.raw(key, &value.into().to_string())
    }

    /// A number, or `null` if it is not finite, which JSON cannot express.
    pub fn float(self, key: &str, value: f64) -> Self {
        self.raw(key, &serde_json::Value::from(value).to_string())
    }

    pub fn flag(self, key: &str, value: bool) -> Self {
        self.raw(key, if value { "true" } else { "false" })
    }

    /// Adds a value that is already JSON.
    pub fn raw(mut self, key: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quoted(key));
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    /// Ends with an array, whose items and the end `]}` are written after it: it may be too long for memory.
    pub fn open_array(self, key: &str) -> String {
        self.raw(key, "[").0
    }

    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Writes the items and the end of what [`Object::open_array`] began.
pub fn write_items<T>(
    out: &mut dyn Write,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut dyn Write, T) -> io::Result<()>,
) -> io::Result<()> {
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        write(out, item)?;
    }
    out.write_all(b"]}")
}

/// An array of values that are already JSON.
pub fn array(values: impl IntoIterator<Item = String>) -> String {
    let values: Vec<String> = values.into_iter().collect();
    format!("[{}]", values.join(","))
}

/// A complete string with quotes. Escapes characters that are unsafe on a terminal.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        if is_special(character) {
            escape(&mut quoted, character);
        } else {
            quoted.push(character);
        }
    }
    quoted.push('"');
    quoted
}

fn escape(text: &mut String, character: char) {
    if let '"' | '\\' = character {
        return text.extend(['\\', character]);
    }
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::{About, List, Map, Object, Pieces, array, print, quoted};

    #[test]
    fn printed_values_are_one_line_that_is_safe_and_reads_back() {
        let text: String = ('\0'..='\u{17f}').chain("\u{200b}\u{202e}\u{feff}層\u{1f600}".chars()).collect();
        let (mut out, floats) = (Vec::new(), [0.0, f64::INFINITY, f64::NAN]);
        let more = Map([("list", List(floats.iter())), ("none", List([].iter()))].into_iter());
        print(&mut out, &About { file: &text, ok: true, more }).expect("writing to a Vec");
        let line = String::from_utf8(out).expect("UTF-8");
        assert_eq!(
            line,
            format!("{{\"file\":{},\"ok\":true,\"list\":[0.0,null,null],\"none\":[]}}\n", quoted(&text))
        );
        let read: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(read["file"], text);
    }

    fn in_pieces(text: &str, size: usize) -> String {
        let (mut pieces, mut raw) = (Pieces::default(), b"\"".to_vec());
        text.as_bytes()
            .chunks(size)
            .for_each(|piece| pieces.write(&mut raw, piece).expect("writing to a Vec"));
        raw.push(b'"');
        String::from_utf8(raw).expect("valid UTF-8")
    }

    #[test]
    fn strings_read_back_as_what_they_were() {
        let text: String = ('\0'..='\u{17f}').chain("\u{200b}\u{202e}\u{feff}層\u{1f600}".chars()).collect();
        let spelled = quoted(&text);
        assert_eq!(serde_json::from_str::<String>(&spelled).expect("JSON"), text);
        for size in [1, 2, 3, 5, 1000] {
            assert_eq!(in_pieces(&text, size), spelled, "in pieces of {size}");
        }
    }

    #[test]
    fn objects_read_back_as_what_they_were() {
        assert_eq!(Object::new().end(), "{}");
        let floats = Object::new().float("a", 0.0).float("b", f64::INFINITY).float("c", f64::NAN);
        assert_eq!(floats.end(), r#"{"a":0.0,"b":null,"c":null}"#);
        let list = array([quoted("a\"b"), "2".to_owned()]);
        let object =
            Object::new().text("file", "a\\b").flag("ok", true).number("n", u64::MAX).raw("list", &list);
        let read: serde_json::Value = serde_json::from_str(&object.end()).expect("JSON");
        let expected = serde_json::json!({ "file": "a\\b", "ok": true, "n": u64::MAX, "list": ["a\"b", 2] });
        assert_eq!(read, expected);
    }

    #[test]
    fn a_terminal_sees_nothing_raw() {
        assert_eq!(quoted("a\u{1b}\u{202e}\u{e0001}\"\\"), r#""a\u001b\u202e\udb40\udc01\"\\""#);
    }
}
