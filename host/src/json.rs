//! JSON for standard output: one value a line, safe on a terminal.

use crate::text::is_plain;
use serde::{Serialize, Serializer};
use serde_json::ser::{CharEscape, Formatter};
use std::io::{self, Write};
use std::path::Path;

/// Writes a value on one line.
///
/// # Errors
/// Those of `out`.
pub fn print(out: &mut (impl Write + ?Sized), value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    print_lines(out, value, &[])
}

/// Writes a value with each item of the arrays of these names on a line of its own.
///
/// # Errors
/// Those of `out`.
pub fn print_lines(
    out: &mut (impl Write + ?Sized),
    value: &(impl Serialize + ?Sized),
    names: &[&str],
) -> io::Result<()> {
    let escaped = Escaped { names, name: String::new(), arrays: Vec::new() };
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, escaped))?;
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

/// An object with these members, in this order: a value of a type that nothing else names. A member may have
/// attributes of serde, and is a variable of its name if no value is given.
macro_rules! object {
    ($($(#[$serde:meta])* $name:ident $(: $value:expr)?),+ $(,)?) => {{
        #[allow(non_camel_case_types, reason = "the type of each member has its name")]
        let object = {
            #[derive(serde::Serialize)]
            struct Object<$($name),+> {
                $($(#[$serde])* $name: $name,)+
            }
            Object { $($name $(: $value)?),+ }
        };
        object
    }};
}
pub(crate) use object;

/// An object about a file: its name, whether it is good, and further members.
pub fn about<T: Serialize>(file: &Path, ok: bool, more: T) -> impl Serialize {
    object! { file: file.to_string_lossy(), ok, #[serde(flatten)] more }
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

/// Writes characters that are unsafe on a terminal as numbers. Each item of some arrays begins a line.
struct Escaped<'n> {
    names: &'n [&'n str],
    /// The name of the last member, and the texts after it.
    name: String,
    /// Whether the items of each open array have lines.
    arrays: Vec<bool>,
}

impl Formatter for Escaped<'_> {
    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.name.clear();
        if first { Ok(()) } else { out.write_all(b",") }
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

    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if !self.names.is_empty() {
            self.name.push_str(fragment);
        }
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

#[cfg(test)]
mod tests {
    use super::{List, Map, about, print};

    use std::path::Path;

    #[test]
    fn printed_values_are_one_line_that_is_safe_and_reads_back() {
        let text: String = ('\0'..='\u{17f}').chain("\u{200b}\u{202e}\u{feff}層\u{1f600}".chars()).collect();
        let (mut out, floats) = (Vec::new(), [0.0, f64::INFINITY, f64::NAN]);
        let more = Map([("list", List(floats.iter())), ("none", List([].iter()))].into_iter());
        print(&mut out, &about(Path::new(&text), true, more)).expect("writing to a Vec");
        let line = String::from_utf8(out).expect("UTF-8");
        assert!(line.ends_with("\",\"ok\":true,\"list\":[0.0,null,null],\"none\":[]}\n"), "{line}");
        let read: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(read["file"], text);
        assert!(line.trim_end().chars().all(|letter| !letter.is_control() && letter != '\u{202e}'), "{line}");
    }

    #[test]
    fn a_terminal_sees_nothing_raw() {
        let mut out = Vec::new();
        print(&mut out, "a\u{1b}\u{202e}\u{e0001}\n\"\\").expect("writing to a Vec");
        assert_eq!(
            out,
            *br#""a\u001b\u202e\udb40\udc01\u000a\"\\""#.iter().chain(b"\n").copied().collect::<Vec<u8>>()
        );
    }
}
