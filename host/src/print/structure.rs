//! The nested structure of a file that the Python package safestructures has saved. The types that it names
//! are printed, and nothing else: nothing is imported.

use crate::input::header::visit;
use crate::input::source::Source;
use crate::json::{Object, quoted};
use crate::print::decoding::Trouble;
use crate::text::shown_text;
use embedded_safestructures::{
    Error, ErrorKind, Event, Frame, Key, SCHEMA, Structure, VERSION_KEY, Value, Walk, check_version,
};
use embedded_safetensors::header::Event as HeaderEvent;
use embedded_safetensors::index::IndexedTensor;
use embedded_safetensors::metadata::JsonStr;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::Write;
use std::ops::ControlFlow;

/// As many as any schema needs.
const FRAMES: usize = 63;

/// The longest schema that is shown, in bytes.
const LONGEST: usize = 1 << 20;

/// The most sentences about tensors. Each needs passes over the schema.
const MOST_NOTES: usize = 8;

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
                HeaderEvent::ValueEnd => texts.key.clear(),
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
            return Some(Err(Wrong { code: "limit.schema", at: 0, message: sentence.clone(), sentence }));
        }
        let version = self.version.as_deref().map(text);
        if let Err(error) = check_version(version) {
            let mut wrong = Wrong::of(error);
            if let Some(version) = version.filter(|_| error.kind == ErrorKind::Version(None)) {
                let spelled = format!(": {:?}", version.chars().take(24).collect::<String>());
                wrong.sentence += &spelled;
                wrong.message += &spelled;
            }
            return Some(Err(wrong));
        }
        Some(Structure::parse(text(schema)).map_err(Wrong::of))
    }
}

/// The error of a structure.
struct Wrong {
    code: &'static str,
    at: u32,
    sentence: String,
    /// The sentence without the code and the offset, which have members of their own in JSON.
    message: String,
}

impl Wrong {
    fn of(Error { kind, at }: Error) -> Self {
        let sentence = Error { kind, at }.to_string();
        Self { code: kind.code(), at, sentence, message: kind.to_string() }
    }

    fn in_structure(structure: Structure<'_>, error: Error) -> Self {
        let explained = structure.explain(error);
        let (sentence, message) = (explained.to_string(), format!("{explained:#}"));
        Self { code: error.kind.code(), at: error.at, sentence, message }
    }

    fn json(&self) -> String {
        Object::new().raw("error", &self.error()).end()
    }

    fn error(&self) -> String {
        Object::new().text("code", self.code).number("at", self.at).text("message", &self.message).end()
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
    let (mut values, mut tensors) = (Values::of(structure, &mut frames), Tensors::of(listing));
    let mut error = None;
    loop {
        match values.next() {
            Ok(Some(Event::End)) => {}
            Ok(Some(Event::Value { key, value, depth, .. })) => {
                let place = key.to_string();
                let (indent, separator) = (4 + 2 * depth, if place.is_empty() { "" } else { ": " });
                let line = shown_text(&format!("{place}{separator}{value}"));
                write!(out, "{:indent$}{line}", "")?;
                if let Value::Tensor(name) = value {
                    write!(out, "{}", tensors.form(name))?;
                    notes.extend(tensors.note(name));
                }
                writeln!(out)?;
            }
            Ok(None) => break,
            Err(found) => {
                error = Some(found);
                break;
            }
        }
    }
    for note in notes.iter().take(MOST_NOTES) {
        writeln!(out, "  structure: {}", note.sentence(structure))?;
    }
    if let Some(more) = notes.len().checked_sub(MOST_NOTES).filter(|more| *more > 0) {
        writeln!(out, "  structure: and {more} more of these notes")?;
    }
    Ok(error.map_or(Ok(()), |error| writeln!(out, "  structure: {}", structure.explain(error)))?)
}

/// A walk that compares each name in a container with those before it.
struct Values<'t, 'f> {
    walk: Walk<'t, 'f>,
    /// The names in each open container.
    names: Vec<HashSet<String>>,
}

impl<'t, 'f> Values<'t, 'f> {
    fn of(structure: Structure<'t>, frames: &'f mut [Frame]) -> Self {
        Self { walk: structure.walk(frames), names: Vec::new() }
    }

    fn next(&mut self) -> Result<Option<Event<'t>>, Error> {
        let event = self.walk.next()?;
        match event {
            Some(Event::Value { key, value, .. }) => {
                if let Key::Field(name) | Key::Entry { text: name, .. } = key
                    && self.names.last_mut().is_some_and(|names| !names.insert(name.to_string()))
                {
                    return Err(Error { kind: ErrorKind::DuplicateMember, at: offset(name) });
                }
                if let Value::Container(..) = value {
                    self.names.push(HashSet::new());
                }
            }
            Some(Event::End) => _ = self.names.pop(),
            None => {}
        }
        Ok(event)
    }
}

fn offset(name: JsonStr<'_>) -> u32 {
    u32::try_from(name.at()).unwrap_or(u32::MAX)
}

/// What is to be said about the tensor that a value names.
enum Note {
    /// The file does not have it: the offset of its name in the schema.
    Missing(u32),
    /// Two values name it: the offsets of its name in both.
    Shared { first: u32, again: u32 },
}

impl Note {
    fn sentence(&self, structure: Structure<'_>) -> String {
        match *self {
            Self::Missing(at) => structure.explain(Error { kind: ErrorKind::NoTensor, at }).to_string(),
            Self::Shared { first, again } => {
                let ((first, _), (path, name)) = (find(structure, first), find(structure, again));
                format!("{path} names the same tensor as {first}: {name}")
            }
        }
    }
}

/// Returns the path of the value that names a tensor at this offset, and the name.
fn find(structure: Structure<'_>, at: u32) -> (String, String) {
    let (mut frames, mut path) = ([Frame::NONE; FRAMES], Vec::new());
    let mut walk = structure.walk(&mut frames);
    while let Ok(Some(event)) = walk.next() {
        let Event::Value { key, value, .. } = event else {
            path.pop();
            continue;
        };
        path.push(key);
        match value {
            Value::Tensor(name) if offset(name) == at => {
                return (path.iter().map(Key::to_string).collect(), format!("{name:?}"));
            }
            Value::Container(..) => {}
            _ => _ = path.pop(),
        }
    }
    Default::default()
}

/// The tensors of the file, and the values that name them.
struct Tensors<'i> {
    by_name: HashMap<&'i str, IndexedTensor<'i>>,
    /// Where in the schema the first value is that names a tensor.
    named: HashMap<&'i str, u32>,
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

    /// Returns what is to be said about a tensor that is missing, or that another value names, too.
    fn note(&mut self, name: JsonStr<'_>) -> Option<Note> {
        let again = offset(name);
        let Some((&name, _)) = self.by_name.get_key_value(&*name.to_string()) else {
            return Some(Note::Missing(again));
        };
        match *self.named.entry(name).or_insert(again) {
            first if first == again => None,
            first => Some(Note::Shared { first, again }),
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
            .unwrap_or_else(|error| Wrong::in_structure(structure, error).json()),
    };
    Ok(write!(out, ",\"structure\":{text}")?)
}

/// Returns the structure as JSON. Its first error, if it has one.
fn tree(structure: Structure<'_>, tensors: &Tensors<'_>) -> Result<String, Error> {
    let (mut frames, mut text, mut ends) = ([Frame::NONE; FRAMES], String::new(), Vec::new());
    let mut values = Values::of(structure, &mut frames);
    while let Some(event) = values.next()? {
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
                text += &leaf(value, tensors);
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

fn leaf(value: Value<'_>, tensors: &Tensors<'_>) -> String {
    let object = Object::new().text("type", type_of(value));
    let object = match value {
        Value::Bool(value) => object.raw("value", if value { "true" } else { "false" }),
        Value::Int(text) | Value::Float(text) | Value::Complex(text) => object.text("value", text),
        Value::Str(text) => object.text("value", &text.to_string()),
        Value::Tensor(name) if !tensors.by_name.contains_key(&*name.to_string()) => {
            let error = Error { kind: ErrorKind::NoTensor, at: offset(name) };
            object.text("name", &name.to_string()).raw("error", &Wrong::of(error).error())
        }
        Value::Tensor(name) => object.text("name", &name.to_string()),
        Value::Other(name, json) => object.text("name", &name.to_string()).text("json", json.as_str()),
        Value::None | Value::Container(..) => object,
    };
    object.end()
}
