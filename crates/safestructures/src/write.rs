//! Schemas of structures to write.

use crate::error::{Error, ErrorKind};
use crate::json::{depth as brackets, validate};
use crate::node::{Container, TYPES};
use crate::structure::{SCHEMA, VERSION, VERSION_KEY};
use core::fmt::{self, Write};

/// The most brackets that [`Structure::parse`](crate::Structure::parse) reads.
const BRACKETS: usize = 125;

/// A structure to write, whose values are in the caller's slices.
///
/// *Memory*: at most 24 bytes on a 32-bit target, `Copy`.
///
/// ```
/// use embedded_safestructures::{Tree, TreeFrame, metadata, write};
/// use embedded_safetensors::{Dtype, write::{FileSpec, TensorSpec}};
///
/// let layers = [Tree::Tensor("0"), Tree::None];
/// let root = Tree::Dict(&[
///     (Tree::Str("layers"), Tree::List(&layers)),
///     (Tree::Str("epoch"), Tree::Int(7)),
/// ]);
/// let (mut text, mut frames) = ([0; 512], [TreeFrame::NONE; 4]);
/// let schema = write(&root, &mut frames, &mut text)?;
/// let (tensors, metadata) = ([TensorSpec::new("0", Dtype::F32, &[3])], metadata(schema));
/// let plan = FileSpec::new(&tensors).with_metadata(&metadata).plan();
/// # assert!(plan.is_ok());
/// # Ok::<(), embedded_safestructures::Error>(())
/// ```
#[derive(Clone, Copy)]
pub enum Tree<'a> {
    /// `None`.
    None,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A text.
    Str(&'a str),
    /// The tensor of this name, which Python loads as an array of numpy. If a name is in the tree twice, the
    /// two values share one array.
    Tensor(&'a str),
    /// A list.
    List(&'a [Self]),
    /// A tuple.
    Tuple(&'a [Self]),
    /// A set. Its values must be ones that Python can hash, and different.
    Set(&'a [Self]),
    /// A dictionary: its keys and their values. A key is `None`, a boolean, a number or a text. Two keys must
    /// be neither equal in Python, as `1`, `1.0` and `True` are, nor have the same text.
    Dict(&'a [(Self, Self)]),
    /// A data class: its fields and their values.
    Dataclass(&'a [(&'a str, Self)]),
    /// A type of one's own: its name, which is none of those that the package knows, and its value in JSON as
    /// its plugin in Python expects it.
    Own(&'a str, &'a str),
}

impl fmt::Debug for Tree<'_> {
    /// Prints the type only: a tree has any depth.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.data_type())
    }
}

impl<'a> Tree<'a> {
    fn data_type(&self) -> &'a str {
        match self {
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::Tensor(_) => "numpy.ndarray",
            Self::List(_) => Container::List.data_type(),
            Self::Tuple(_) => Container::Tuple.data_type(),
            Self::Set(_) => Container::Set.data_type(),
            Self::Dict(_) => Container::Dict.data_type(),
            Self::Dataclass(_) => Container::Dataclass.data_type(),
            Self::Own(name, _) => name,
        }
    }

    /// Returns the name of a key in JSON: Python's `str` of it, but for the exponents of floats. A number is
    /// written into `memory`.
    fn key_name<'m>(&'m self, memory: &'m mut [u8; NUMBER]) -> Option<&'m str> {
        let mut out = Out { text: memory, len: 0 };
        match self {
            Self::Str(text) => return Some(text),
            Self::None => return Some("None"),
            Self::Bool(true) => return Some("True"),
            Self::Bool(false) => return Some("False"),
            Self::Int(number) => _ = write!(out, "{number}"),
            Self::Float(number) => out.float(*number),
            _ => return None,
        }
        out.written()
    }

    /// Whether two keys are numbers or booleans that Python takes for equal. Of other keys, the names say it.
    fn equals_in_python(&self, other: &Self) -> bool {
        fn integer(tree: &Tree<'_>) -> Option<i64> {
            match *tree {
                Tree::Bool(value) => Some(i64::from(value)),
                Tree::Int(value) => Some(value),
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a float that is no integer is another then"
                )]
                Tree::Float(value) if value < MOST && value as i64 as f64 == value => Some(value as i64),
                _ => None,
            }
        }
        match (self, other) {
            (Self::Float(own), Self::Float(other)) => own == other,
            _ => integer(self).is_some_and(|number| integer(other) == Some(number)),
        }
    }

    /// Whether a key or a field has the name of one before it, or is equal to it.
    fn repeats(&self, index: usize) -> bool {
        match self {
            Self::Dict(entries) => {
                let (mut own, mut other) = ([0; NUMBER], [0; NUMBER]);
                let Some((last, _)) = entries.get(index) else { return false };
                let name = last.key_name(&mut own);
                let mut before = entries.iter().take(index);
                before.any(|(key, _)| key.key_name(&mut other) == name || key.equals_in_python(last))
            }
            Self::Dataclass(fields) => {
                let Some((name, _)) = fields.get(index) else { return false };
                fields.iter().take(index).any(|(field, _)| field == name)
            }
            _ => false,
        }
    }

    /// Whether it has a frame while its values are written.
    fn is_container(&self) -> bool {
        matches!(self, Self::List(_) | Self::Tuple(_) | Self::Set(_) | Self::Dict(_) | Self::Dataclass(_))
    }
}

/// A container that is being written.
///
/// *Memory*: at most 32 bytes on a 32-bit target, `Copy`.
#[derive(Clone, Copy, Debug)]
pub struct TreeFrame<'a> {
    tree: Tree<'a>,
    /// The number of its values that have been written.
    written: usize,
}

impl TreeFrame<'_> {
    /// A frame for the memory of [`write()`].
    pub const NONE: Self = Self { tree: Tree::None, written: 0 };
}

/// Returns the two pairs of `__metadata__` that make a file one with this schema, in the order of a plan.
pub const fn metadata(schema: &str) -> [(&'static str, &str); 2] {
    [(SCHEMA, schema), (VERSION_KEY, VERSION)]
}

/// Writes the schema of a structure into `text`, as Python's `json.dumps` spells it, and returns that part.
///
/// `frames` has one frame for each level of containers.
///
/// # Errors
/// [`ErrorKind::Text`] when `text` is too small, with the bytes needed; [`ErrorKind::Frames`] when there are
/// too few frames; [`ErrorKind::KeyType`] for a key that is a container, a tensor or a type of one's own;
/// [`ErrorKind::SameName`] for two keys or fields of one name, such as the integer 1 and the text `1`, or
/// keys that are equal in Python; [`ErrorKind::OwnName`] for a type of one's own whose name the package
/// knows; [`ErrorKind::Json`] and the other kinds of wrong JSON, of the class `File`, when its value is not
/// JSON; [`ErrorKind::Depth`] when there are more levels than can be read again, which are 62.
/// The offset is the byte of the schema that would have been next.
///
/// Each key is compared with those before it in its container.
pub fn write<'a, 'b>(
    tree: &Tree<'a>,
    frames: &mut [TreeFrame<'a>],
    text: &'b mut [u8],
) -> Result<&'b str, Error> {
    let capacity = text.len() as u64;
    let mut out = Out { text, len: 0 };
    let mut depth = out.open(tree, frames, 0)?;
    while let Some(frame) = depth.checked_sub(1).and_then(|top| frames.get_mut(top)) {
        let (tree, index) = (frame.tree, frame.written);
        frame.written += 1;
        match out.begin_child(&tree, index)? {
            Some(child) => depth = out.open(&child, frames, depth)?,
            None => {
                out.close(&tree)?;
                depth -= 1;
            }
        }
    }
    let needed = out.len as u64;
    out.written().ok_or(ErrorKind::Text { needed, capacity }.at(0))
}

/// The first float above all `i64`.
const MOST: f64 = 9_223_372_036_854_775_808.0;

/// More bytes than any number has.
const NUMBER: usize = 32;

/// The text so far. Bytes that do not fit are counted.
struct Out<'b> {
    text: &'b mut [u8],
    len: usize,
}

impl Write for Out<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let room = self.text.get_mut(self.len..).unwrap_or(&mut []);
        room.iter_mut().zip(piece.bytes()).for_each(|(slot, byte)| *slot = byte);
        self.len = self.len.saturating_add(piece.len());
        Ok(())
    }
}

impl<'b> Out<'b> {
    /// Returns the text, if it fits.
    fn written(self) -> Option<&'b str> {
        let (text, _) = self.text.split_at_checked(self.len)?;
        // Everything that is written is text.
        core::str::from_utf8(text).ok()
    }

    fn put(&mut self, piece: &str) {
        // It never fails.
        let _ = self.write_str(piece);
    }

    fn error(&self, kind: ErrorKind) -> Error {
        kind.at(u32::try_from(self.len).unwrap_or(u32::MAX))
    }

    /// Writes a value, or the beginning of a container, which gets a frame. Returns the depth after it.
    fn open<'a>(
        &mut self,
        tree: &Tree<'a>,
        frames: &mut [TreeFrame<'a>],
        depth: usize,
    ) -> Result<usize, Error> {
        if !tree.is_container() {
            self.scalar(tree, depth)?;
            return Ok(depth);
        }
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (needed, capacity) = (count(depth + 1), count(frames.len()));
        let frame =
            frames.get_mut(depth).ok_or_else(|| self.error(ErrorKind::Frames { needed, capacity }))?;
        if 2 * depth + 3 > BRACKETS {
            return Err(self.error(ErrorKind::Depth));
        }
        *frame = TreeFrame { tree: *tree, written: 0 };
        self.begin(tree);
        self.put(if matches!(tree, Tree::Dict(_) | Tree::Dataclass(_)) { "{" } else { "[" });
        Ok(depth + 1)
    }

    fn begin(&mut self, tree: &Tree<'_>) {
        self.put("{\"data_type\": ");
        self.string(tree.data_type());
        self.put(", \"value\": ");
    }

    /// Writes what precedes a value in its container, and returns the value, if there is one at this index.
    fn begin_child<'a>(&mut self, tree: &Tree<'a>, index: usize) -> Result<Option<Tree<'a>>, Error> {
        if tree.repeats(index) {
            return Err(self.error(ErrorKind::SameName));
        }
        let separator = if index == 0 { "" } else { ", " };
        let child = match tree {
            Tree::List(items) | Tree::Tuple(items) | Tree::Set(items) => {
                let Some(child) = items.get(index) else { return Ok(None) };
                self.put(separator);
                child
            }
            Tree::Dict(entries) => {
                let Some((key, child)) = entries.get(index) else { return Ok(None) };
                self.put(separator);
                self.key(key)?;
                child
            }
            Tree::Dataclass(fields) => {
                let Some((name, child)) = fields.get(index) else { return Ok(None) };
                self.put(separator);
                self.string(name);
                self.put(": ");
                child
            }
            _ => return Ok(None),
        };
        Ok(Some(*child))
    }

    fn close(&mut self, tree: &Tree<'_>) -> Result<(), Error> {
        match tree {
            Tree::Dict(entries) => {
                self.put("}, \"keys\": {");
                for (index, (key, _)) in entries.iter().enumerate() {
                    self.put(if index == 0 { "" } else { ", " });
                    self.key(key)?;
                    self.scalar(key, 0)?;
                }
                self.put("}}");
            }
            Tree::Dataclass(_) => self.put("}}"),
            _ => self.put("]}"),
        }
        Ok(())
    }

    /// Writes a key of a dictionary as Python's `str` spells it, and the colon.
    fn key(&mut self, key: &Tree<'_>) -> Result<(), Error> {
        let mut memory = [0; NUMBER];
        let name = key.key_name(&mut memory).ok_or(self.error(ErrorKind::KeyType))?;
        self.string(name);
        self.put(": ");
        Ok(())
    }

    /// Writes a float as Python's `str` spells it, but for its exponent.
    fn float(&mut self, number: f64) {
        match number.is_nan() {
            true => self.put("nan"),
            false => _ = write!(self, "{number:?}"),
        }
    }

    /// Writes a value that is no container, in `depth` containers.
    fn scalar(&mut self, tree: &Tree<'_>, depth: usize) -> Result<(), Error> {
        self.begin(tree);
        match tree {
            Tree::None => self.put("null"),
            Tree::Bool(value) => self.put(if *value { "true" } else { "false" }),
            Tree::Int(number) => _ = write!(self, "\"{number}\""),
            Tree::Float(number) => {
                self.put("\"");
                self.float(*number);
                self.put("\"");
            }
            Tree::Str(text) | Tree::Tensor(text) => self.string(text),
            Tree::Own(name, json) => {
                if TYPES.iter().any(|(known, _)| known == name) {
                    return Err(self.error(ErrorKind::OwnName));
                }
                validate(json).map_err(|error| self.error(error.kind))?;
                if 2 * depth + 1 + brackets(json.as_bytes()) as usize > BRACKETS {
                    return Err(self.error(ErrorKind::Depth));
                }
                self.put(json);
            }
            _ => return Err(self.error(ErrorKind::KeyType)),
        }
        self.put("}");
        Ok(())
    }

    /// Writes a string in ASCII.
    fn string(&mut self, text: &str) {
        self.put("\"");
        for character in text.chars() {
            match character {
                '"' => self.put("\\\""),
                '\\' => self.put("\\\\"),
                '\n' => self.put("\\n"),
                '\r' => self.put("\\r"),
                '\t' => self.put("\\t"),
                '\u{8}' => self.put("\\b"),
                '\u{c}' => self.put("\\f"),
                ' '..='~' => _ = self.write_char(character),
                _ => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        let _ = write!(self, "\\u{unit:04x}");
                    }
                }
            }
        }
        self.put("\"");
    }
}
