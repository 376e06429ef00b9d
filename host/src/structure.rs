//! The nested structure of a file that the Python package safestructures has saved. The types that it names
//! are printed, and nothing else: nothing is imported.

use crate::decoding::Trouble;
use crate::header::visit;
use crate::json::{Object, quoted};
use crate::source::Source;
use crate::text::shown_text;
use embedded_safestructures::{
    Error, ErrorKind, Event, Frame, Key, SCHEMA, Structure, VERSION_KEY, Value, Walk, check_version,
};
use embedded_safetensors::header::Event as HeaderEvent;
use embedded_safetensors::index::IndexedTensor;
use embedded_safetensors::metadata::JsonStr;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::ops::ControlFlow;

/// As many as any schema needs.
const FRAMES: usize = 63;

/// The longest schema that is shown, in bytes.
const LONGEST: usize = 1 << 20;

/// The two values of the metadata that make a structure.
#[derive(Default)]
struct Texts {
    key: Vec<u8>,
    schema: Option<Vec<u8>>,
    version: Option<Vec<u8>>,
}

impl Texts {
    fn read(source: &mut Source) -> Result<Self, Trouble> {
        let mut texts = Self::default();
        visit(source, |event, _, _| -> Result<_, Trouble> {
            match event {
                HeaderEvent::Key(piece) => texts.key.extend_from_slice(piece.as_bytes()),
                HeaderEvent::KeyEnd => texts.value().map_or((), |value| *value = Some(Vec::new())),
                HeaderEvent::Value(piece) => texts.keep(piece.as_bytes()),
                HeaderEvent::ValueEnd => {
                    texts.keep(b"");
                    texts.key.clear();
                }
                HeaderEvent::MetadataEnd => return Ok(ControlFlow::Break(())),
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(texts)
    }

    /// Returns where the value of the current key is kept.
    fn value(&mut self) -> Option<&mut Option<Vec<u8>>> {
        match () {
            () if self.key == SCHEMA.as_bytes() => Some(&mut self.schema),
            () if self.key == VERSION_KEY.as_bytes() => Some(&mut self.version),
            () => None,
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        if let Some(Some(value)) = self.value() {
            let room = (LONGEST + 1).saturating_sub(value.len());
            value.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }

    /// Returns the structure, if the file claims to have one, or the sentence of its error.
    fn structure(&self) -> Option<Result<Structure<'_>, Wrong>> {
        fn text(bytes: &[u8]) -> &str {
            std::str::from_utf8(bytes).unwrap_or_default()
        }
        let schema = self.schema.as_deref()?;
        if schema.len() > LONGEST {
            let sentence = format!("not shown: its schema has more than {LONGEST} bytes");
            return Some(Err(Wrong { code: "limit.schema", at: 0, sentence }));
        }
        let version = check_version(self.version.as_deref().map(text));
        let parsed = version.and_then(|()| Structure::parse(text(schema)));
        Some(parsed.map_err(|error| Wrong::of(error, &error)))
    }
}

/// The error of a structure.
struct Wrong {
    code: &'static str,
    at: u32,
    sentence: String,
}

impl Wrong {
    fn of(error: Error, sentence: &impl ToString) -> Self {
        Self { code: error.kind.code(), at: error.at, sentence: sentence.to_string() }
    }

    fn json(&self) -> String {
        let error =
            Object::new().text("code", self.code).number("at", self.at).text("message", &self.sentence);
        Object::new().raw("error", &error.end()).end()
    }
}

/// Prints the structure as a tree, below the other lines of the header; nothing if the file has none.
pub fn print(
    source: &mut Source,
    listing: &[IndexedTensor<'_>],
    out: &mut impl Write,
) -> Result<(), Trouble> {
    let texts = Texts::read(source)?;
    match texts.structure() {
        Some(Ok(structure)) => print_tree(structure, listing, out),
        Some(Err(wrong)) => Ok(writeln!(out, "  structure: {}", wrong.sentence)?),
        None => Ok(()),
    }
}

fn print_tree(
    structure: Structure<'_>,
    listing: &[IndexedTensor<'_>],
    out: &mut impl Write,
) -> Result<(), Trouble> {
    writeln!(out, "  structure: safestructures 1.0.0")?;
    let (mut frames, mut notes) = ([Frame::NONE; FRAMES], Vec::new());
    let (mut walk, mut tensors) = (structure.walk(&mut frames), Tensors::of(listing));
    let mut path = Vec::new();
    loop {
        match walk.next() {
            Ok(Some(Event::End)) => _ = path.pop(),
            Ok(Some(Event::Value { key, value, .. })) => {
                let place = key.to_string();
                let (indent, separator) = (4 + 2 * path.len(), if place.is_empty() { "" } else { ": " });
                let line = shown_text(&format!("{place}{separator}{value}"));
                write!(out, "{:indent$}{line}", "")?;
                path.push(place);
                if let Value::Tensor(name) = value {
                    write!(out, "{}", tensors.form(name))?;
                    notes.extend(tensors.note(name, &path.concat(), structure));
                }
                writeln!(out)?;
                if !matches!(value, Value::Container(..)) {
                    path.pop();
                }
            }
            Ok(None) => break,
            Err(error) => {
                notes.push(structure.explain(error).to_string());
                break;
            }
        }
    }
    Ok(notes.iter().try_for_each(|note| writeln!(out, "  structure: {note}"))?)
}

/// The tensors of the file, and the values that name them.
struct Tensors<'i> {
    by_name: HashMap<&'i str, IndexedTensor<'i>>,
    /// The path of the first value that names a tensor.
    named: HashMap<String, String>,
}

impl<'i> Tensors<'i> {
    fn of(listing: &[IndexedTensor<'i>]) -> Self {
        let by_name = listing.iter().map(|tensor| (tensor.name(), *tensor)).collect();
        Self { by_name, named: HashMap::new() }
    }

    /// Returns what follows the name of a tensor in its line.
    fn form(&self, name: JsonStr<'_>) -> String {
        match self.by_name.get(&*name.to_string()) {
            Some(tensor) => format!(", {} {:?}", tensor.dtype(), tensor.dims()),
            None => ", which the file does not have".to_owned(),
        }
    }

    /// Returns the sentence about a tensor that is missing, or that another value names, too.
    fn note(&mut self, name: JsonStr<'_>, path: &str, structure: Structure<'_>) -> Option<String> {
        let text = name.to_string();
        if !self.by_name.contains_key(&*text) {
            let at = u32::try_from(name.at()).unwrap_or(u32::MAX);
            return Some(structure.explain(Error { kind: ErrorKind::NoTensor, at }).to_string());
        }
        match self.named.get(&text) {
            Some(first) => Some(format!("{path} names the same tensor as {first}: {name:?}")),
            None => {
                self.named.insert(text, path.to_owned());
                None
            }
        }
    }
}

/// Prints the structure as a member of an object; nothing if the file has none.
pub fn print_json(
    source: &mut Source,
    listing: &[IndexedTensor<'_>],
    out: &mut impl Write,
) -> Result<(), Trouble> {
    let texts = Texts::read(source)?;
    let text = match texts.structure() {
        None => return Ok(()),
        Some(Err(wrong)) => wrong.json(),
        Some(Ok(structure)) => tree(structure, &Tensors::of(listing))
            .unwrap_or_else(|error| Wrong::of(error, &structure.explain(error)).json()),
    };
    Ok(write!(out, ",\"structure\":{text}")?)
}

/// Returns the structure as JSON. Its first error, if it has one.
fn tree(structure: Structure<'_>, tensors: &Tensors<'_>) -> Result<String, Error> {
    let (mut frames, mut text, mut ends) = ([Frame::NONE; FRAMES], String::new(), Vec::new());
    let mut walk: Walk<'_, '_> = structure.walk(&mut frames);
    while let Some(event) = walk.next()? {
        let Event::Value { key, value, .. } = event else {
            text += ends.pop().unwrap_or_default();
            continue;
        };
        if text.ends_with(['}', ']']) {
            text.push(',');
        }
        let end = push_key(&mut text, key)?;
        match value {
            Value::Container(container, _) => {
                _ = write!(text, "{{\"type\":\"{}\",\"values\":[", container.name());
                ends.push(if end.is_empty() { "]}" } else { "]}}" });
            }
            _ => {
                text += &leaf(value, tensors)?;
                text += end;
            }
        }
    }
    Ok(text)
}

/// Pushes the beginning of an entry or a field. Returns its end.
fn push_key(text: &mut String, key: Key<'_>) -> Result<&'static str, Error> {
    match key {
        Key::Root | Key::Index(_) => return Ok(""),
        Key::Field(name) => _ = write!(text, "{{\"field\":{},\"value\":", quoted(&name.to_string())),
        Key::Entry { text: name, key } => {
            let (name, data_type) = (quoted(&name.to_string()), type_of(key.value()?));
            _ = write!(text, "{{\"key\":{name},\"key_type\":\"{data_type}\",\"value\":");
        }
    }
    Ok("}")
}

fn type_of(value: Value<'_>) -> &'static str {
    match value {
        Value::None => "none",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        Value::Complex(_) => "complex",
        Value::Str(_) => "str",
        Value::Tensor(_) => "tensor",
        Value::Container(container, _) => container.name(),
        Value::Other(..) => "other",
    }
}

fn leaf(value: Value<'_>, tensors: &Tensors<'_>) -> Result<String, Error> {
    let object = Object::new().text("type", type_of(value));
    Ok(match value {
        Value::Bool(value) => object.raw("value", if value { "true" } else { "false" }),
        Value::Int(text) | Value::Float(text) | Value::Complex(text) => object.text("value", text),
        Value::Str(text) => object.text("value", &text.to_string()),
        Value::Tensor(name) if !tensors.by_name.contains_key(&*name.to_string()) => {
            let at = u32::try_from(name.at()).unwrap_or(u32::MAX);
            return Err(Error { kind: ErrorKind::NoTensor, at });
        }
        Value::Tensor(name) => object.text("name", &name.to_string()),
        Value::Other(name, json) => object.text("name", &name.to_string()).text("json", json.as_str()),
        Value::None | Value::Container(..) => object,
    }
    .end())
}
