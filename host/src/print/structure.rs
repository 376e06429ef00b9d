//! The nested structure of a file that the Python package safestructures has saved. The types that it names
//! are printed, and nothing else: nothing is imported.

use crate::input::model::Tensor;
use crate::output::writer::FRAMES;
use crate::text::shown_text;
use embedded_safestructures::{
    Error, ErrorKind, Event, Frame, Key, SCHEMA, Structure, VERSION_KEY, Value, Walk, check_version,
};
use embedded_safetensors::metadata::JsonStr;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

/// The longest schema that is shown, in bytes.
const LONGEST: usize = 1 << 20;

/// The most sentences about tensors. Each needs passes over the schema.
const MOST_NOTES: usize = 8;

/// A file that claims to have a structure.
pub struct Structured<'m>(Result<Structure<'m>, Wrong>);

impl<'m> Structured<'m> {
    /// The structure in this metadata, or the sentence of its error.
    pub fn of(metadata: &'m BTreeMap<String, String>) -> Option<Self> {
        let schema = metadata.get(SCHEMA)?;
        let version = metadata.get(VERSION_KEY).map(String::as_str);
        Some(Self(match check_version(version) {
            _ if schema.len() > LONGEST => {
                let sentence = format!("not shown: its schema has more than {LONGEST} bytes");
                Err(Wrong { code: "limit.schema", at: 0, message: sentence.clone(), sentence })
            }
            Err(error) => {
                let mut wrong = Wrong::of(error);
                if let Some(version) = version.filter(|_| error.kind == ErrorKind::Version(None)) {
                    let spelled = format!(": {:?}", version.chars().take(24).collect::<String>());
                    wrong.sentence += &spelled;
                    wrong.message += &spelled;
                }
                Err(wrong)
            }
            Ok(()) => Structure::parse(schema).map_err(Wrong::of),
        }))
    }

    /// Prints the structure as a tree.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print(&self, tensors: &[Tensor<'_>], out: &mut impl Write) -> io::Result<()> {
        match &self.0 {
            Ok(structure) => print_tree(*structure, tensors, out),
            Err(wrong) => writeln!(out, "  structure: {}", wrong.sentence),
        }
    }

    /// The structure for JSON, or its first error.
    pub fn tree(self, tensors: &[Tensor<'_>]) -> impl Serialize + use<> {
        let tree = self.0.and_then(|structure| {
            let mut frames = [Frame::NONE; FRAMES];
            let tree = Tensors::of(tensors).node(&mut Values::of(structure, &mut frames));
            tree.map_err(|error| Wrong::in_structure(structure, error))
        });
        let wrong = |error| Node::Value(Leaf { error: Some(error), ..Leaf::default() });
        tree.map_or_else(wrong, |node| node.unwrap_or(Node::Value(Leaf::default())))
    }
}

/// The error of a structure.
#[derive(Serialize)]
struct Wrong {
    code: &'static str,
    at: u32,
    #[serde(skip)]
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
}

fn print_tree(structure: Structure<'_>, tensors: &[Tensor<'_>], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  structure: safestructures 1.0.0")?;
    let (mut frames, mut notes) = ([Frame::NONE; FRAMES], Vec::new());
    let (mut values, mut tensors) = (Values::of(structure, &mut frames), Tensors::of(tensors));
    let error = loop {
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
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    for note in notes.iter().take(MOST_NOTES) {
        writeln!(out, "  structure: {}", note.sentence(structure))?;
    }
    if let Some(more) = notes.len().checked_sub(MOST_NOTES).filter(|more| *more > 0) {
        writeln!(out, "  structure: and {more} more of these notes")?;
    }
    error.map_or(Ok(()), |error| writeln!(out, "  structure: {}", structure.explain(error)))
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

/// A note about the tensor that a value names at this offset in the schema: that the file does not have it,
/// or that a value before it names it at the other offset.
struct Note {
    at: u32,
    first: Option<u32>,
}

impl Note {
    fn sentence(&self, structure: Structure<'_>) -> String {
        let Some(first) = self.first else {
            return structure.explain(Error { kind: ErrorKind::NoTensor, at: self.at }).to_string();
        };
        let ((first, _), (path, name)) = (find(structure, first), find(structure, self.at));
        format!("{path} names the same tensor as {first}: {name}")
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
    by_name: HashMap<&'i str, &'i Tensor<'i>>,
    /// Where in the schema the first value is that names a tensor.
    named: HashMap<&'i str, u32>,
}

impl<'i> Tensors<'i> {
    fn of(tensors: &'i [Tensor<'i>]) -> Self {
        let by_name = tensors.iter().map(|tensor| (tensor.name(), tensor)).collect();
        Self { by_name, named: HashMap::new() }
    }

    /// Returns what follows the name of a tensor in its line.
    fn form(&self, name: JsonStr<'_>) -> String {
        match self.by_name.get(&*name.to_string()) {
            Some(tensor) => format!(", {} {:?}", tensor.dtype(), tensor.dims()),
            None => ", which the file does not have".to_owned(),
        }
    }

    /// Returns the note about a tensor that is missing, or that another value names, too.
    fn note(&mut self, name: JsonStr<'_>) -> Option<Note> {
        let at = offset(name);
        let Some((&name, _)) = self.by_name.get_key_value(&*name.to_string()) else {
            return Some(Note { at, first: None });
        };
        let first = *self.named.entry(name).or_insert(at);
        (first != at).then_some(Note { at, first: Some(first) })
    }
}

/// A value with its place.
#[derive(Serialize)]
#[serde(untagged)]
enum Node {
    Field { field: String, value: Leaf },
    Entry { key: String, key_type: &'static str, value: Leaf },
    Value(Leaf),
}

/// A value, and the values in it; without a type, an error or nothing.
#[derive(Default, Serialize)]
struct Leaf {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<Node>>,
    #[serde(rename = "value", skip_serializing_if = "Option::is_none")]
    flag: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Wrong>,
}

impl Tensors<'_> {
    /// Takes the next value with all values in it; none at the end of a container. The walk limits the depth.
    fn node(&self, values: &mut Values<'_, '_>) -> Result<Option<Node>, Error> {
        let Some(Event::Value { key, value, .. }) = values.next()? else { return Ok(None) };
        let key_type = if let Key::Entry { key, .. } = key { type_of(key.value()?) } else { "" };
        let mut leaf = self.leaf(value);
        if let Value::Container(..) = value {
            let mut inside = Vec::new();
            while let Some(node) = self.node(values)? {
                inside.push(node);
            }
            leaf.values = Some(inside);
        }
        Ok(Some(match key {
            Key::Field(name) => Node::Field { field: name.to_string(), value: leaf },
            Key::Entry { text, .. } => Node::Entry { key: text.to_string(), key_type, value: leaf },
            _ => Node::Value(leaf),
        }))
    }

    fn leaf(&self, value: Value<'_>) -> Leaf {
        let mut leaf = Leaf { r#type: Some(type_of(value)), ..Leaf::default() };
        match value {
            Value::Bool(flag) => leaf.flag = Some(flag),
            Value::Int(text) | Value::Float(text) | Value::Complex(text) => {
                leaf.value = Some(text.to_owned());
            }
            Value::Str(text) => leaf.value = Some(text.to_string()),
            Value::Tensor(name) => {
                leaf.error = (!self.by_name.contains_key(&*name.to_string()))
                    .then(|| Wrong::of(Error { kind: ErrorKind::NoTensor, at: offset(name) }));
                leaf.name = Some(name.to_string());
            }
            Value::Other(name, json) => {
                leaf.name = Some(name.to_string());
                leaf.json = Some(json.as_str().to_owned());
            }
            Value::None | Value::Container(..) => {}
        }
        leaf
    }
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
