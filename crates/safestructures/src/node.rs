//! Values of a structure, and what a container holds.

use crate::error::{Error, ErrorKind, LoadError};
use crate::json::{Items, Json, Members};
use crate::read::FromNode;
use crate::walk::Frame;
use core::fmt::{self, Write};
use embedded_safetensors::metadata::JsonStr;
use embedded_safetensors::{Model, ReadAt, TensorInfo};

/// The types that the package knows, as a schema spells them. Each framework has its own type of tensors.
pub(crate) const TYPES: [(&str, Type); 16] = [
    ("int", Type::Int),
    ("float", Type::Float),
    ("complex", Type::Complex),
    ("str", Type::Str),
    ("bool", Type::Bool),
    ("NoneType", Type::None),
    ("None", Type::None),
    ("list", Type::Sequence(Container::List)),
    ("tuple", Type::Sequence(Container::Tuple)),
    ("set", Type::Sequence(Container::Set)),
    ("dict", Type::Dict),
    ("SafestructuresDataclass", Type::Dataclass),
    ("numpy.ndarray", Type::Tensor),
    ("torch.Tensor", Type::Tensor),
    ("tensorflow.python.framework.ops.EagerTensor", Type::Tensor),
    ("jaxlib.xla_extension.ArrayImpl", Type::Tensor),
];

#[derive(Clone, Copy)]
pub(crate) enum Type {
    Int,
    Float,
    Complex,
    Str,
    Bool,
    None,
    Sequence(Container),
    Dict,
    Dataclass,
    Tensor,
}

/// A value in a structure, of which it is a place: it is read only when asked for.
///
/// *Memory*: 12 bytes on a 32-bit target, `Copy`; borrows the text of the schema.
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    pub(crate) json: Json<'t>,
}

/// What a value is.
///
/// *Memory*: at most 32 bytes on a 32-bit target, `Copy`; borrows the text of the schema.
#[derive(Clone, Copy, Debug)]
pub enum Value<'t> {
    /// `None`.
    None,
    /// A boolean.
    Bool(bool),
    /// An integer, in decimal. It may have any number of digits.
    Int(&'t str),
    /// A float as Python prints it: `0.1`, `1e-05`, `inf`, `nan`. `str::parse` reads it.
    Float(&'t str),
    /// A complex number as Python prints it: `(1+2j)`.
    Complex(&'t str),
    /// A text.
    Str(JsonStr<'t>),
    /// A tensor of any framework: its name in the file. Several values may name the same one, which they then
    /// share.
    Tensor(JsonStr<'t>),
    /// A list, a tuple, a set, a dictionary or a data class, and its values.
    Container(Container, Children<'t>),
    /// A type that the package does not know: its name, and its value as the program that wrote it chose it.
    Other(JsonStr<'t>, Json<'t>),
}

/// The types of containers.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// A list.
    List,
    /// A tuple.
    Tuple,
    /// A set, in the file's order.
    Set,
    /// A dictionary, in the file's order.
    Dict,
    /// A data class. The file has its fields, and not its name.
    Dataclass,
}

impl Container {
    /// Returns a word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dataclass => "dataclass",
            _ => self.data_type(),
        }
    }

    /// Returns the type as the schema spells it.
    pub const fn data_type(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Tuple => "tuple",
            Self::Set => "set",
            Self::Dict => "dict",
            Self::Dataclass => "SafestructuresDataclass",
        }
    }
}

/// Where a value is in its container.
///
/// *Memory*: at most 32 bytes on a 32-bit target, `Copy`.
#[derive(Clone, Copy, Debug)]
pub enum Key<'t> {
    /// Nowhere: it is the whole structure.
    Root,
    /// At this index of a list, a tuple or a set, counted from 0.
    Index(u32),
    /// In this field of a data class.
    Field(JsonStr<'t>),
    /// At a key of a dictionary.
    Entry {
        /// The key as Python's `str` spells it.
        text: JsonStr<'t>,
        /// The key itself: a text, a number, a tuple.
        key: Node<'t>,
    },
}

impl fmt::Display for Key<'_> {
    /// Prints the place as an index in Python: `[0]`, `["lr"]`, `.momentum`. Of the whole structure: nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Field(name) => write!(f, ".{}", Printable(name.chars())),
            Self::Entry { text, key } => match key.value() {
                Ok(Value::Str(_)) => write!(f, "[{text:?}]"),
                _ => write!(f, "[{}]", Printable(text.chars())),
            },
        }
    }
}

impl fmt::Display for Value<'_> {
    /// Prints the value in a line, without what a container holds: `int 7`, `list of 2`, `tensor "0"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Bool(value) => write!(f, "bool {value}"),
            Self::Int(text) => write!(f, "int {text}"),
            Self::Float(text) => write!(f, "float {text}"),
            Self::Complex(text) => write!(f, "complex {text}"),
            Self::Str(text) => write!(f, "str {text:?}"),
            Self::Tensor(name) => write!(f, "tensor {name:?}"),
            Self::Container(container, values) => write!(f, "{} of {}", container.name(), values.count()),
            Self::Other(name, json) => {
                write!(f, "type {name:?}: {}", Printable(json.as_str().chars()))
            }
        }
    }
}

/// Characters of a file, on a terminal.
struct Printable<I>(I);

impl<I: Iterator<Item = char> + Clone> fmt::Display for Printable<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.clone().try_for_each(|character| match character {
            '"' | '\'' | '\\' => f.write_char(character),
            _ => write!(f, "{}", character.escape_debug()),
        })
    }
}

/// The members of a value that the package defines.
struct Parts<'t> {
    data_type: JsonStr<'t>,
    value: Json<'t>,
    keys: Option<Json<'t>>,
}

impl<'t> Node<'t> {
    /// Returns the offset of the value in the schema.
    pub fn at(self) -> u32 {
        self.json.at
    }

    /// Returns what the value is. Takes a pass over its text.
    ///
    /// # Errors
    /// The value is not one that the package writes.
    pub fn value(self) -> Result<Value<'t>, Error> {
        let Parts { data_type, value, keys } = self.parts()?;
        let Some((_, known)) = TYPES.iter().find(|(name, _)| data_type.is(name)) else {
            return Ok(Value::Other(data_type, value));
        };
        let scalar = match known {
            Type::Int => number(value).filter(|text| is_integer(text)).map(Value::Int),
            Type::Float => number(value).filter(|text| is_float(text)).map(Value::Float),
            Type::Complex => number(value).filter(|text| is_complex(text)).map(Value::Complex),
            Type::Str => value.as_string().map(Value::Str),
            Type::Tensor => value.as_string().map(Value::Tensor),
            Type::Bool => value.as_bool().map(Value::Bool),
            Type::None => value.is_null().then_some(Value::None),
            Type::Sequence(container) => {
                return Ok(Value::Container(*container, Children::of_sequence(value)?));
            }
            Type::Dataclass => {
                return Ok(Value::Container(Container::Dataclass, Children::of_fields(value)?));
            }
            Type::Dict => {
                let keys = keys.filter(|keys| keys.first() == b'{');
                let keys = keys.ok_or(ErrorKind::NoKeys.at(self.json.at))?;
                return Ok(Value::Container(Container::Dict, Children::of_entries(value, keys)?));
            }
        };
        scalar.ok_or(ErrorKind::Scalar.at(value.at))
    }

    /// Reads a value as a type of Rust: a number, a boolean, a text, an `Option` for `None`, an array, or a
    /// type of your own.
    ///
    /// # Errors
    /// [`ErrorKind::OtherType`] when the value has another type; those of [`FromNode::from_node`].
    pub fn read<T: FromNode<'t>>(self) -> Result<T, Error> {
        T::from_node(self)
    }

    /// Returns the value at a key of a dictionary, spelled as Python's `str` spells it, or in a field of a
    /// data class.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is none; [`ErrorKind::DuplicateMember`] when there are two.
    pub fn get(self, key: &str) -> Result<Self, Error> {
        let (mut children, mut found) = (self.children()?, None);
        while let Some((place, node)) = children.next()? {
            let (Key::Field(name) | Key::Entry { text: name, .. }) = place else { continue };
            if name.is(key) && found.replace(node).is_some() {
                return Err(ErrorKind::DuplicateMember.at(at(name)));
            }
        }
        found.ok_or(ErrorKind::NotFound.at(self.json.at))
    }

    /// Returns the value at an index of a list, a tuple or a set, counted from 0.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is none.
    pub fn item(self, index: u32) -> Result<Self, Error> {
        let mut children = self.children()?;
        while let Some((at, node)) = children.next()? {
            match at {
                Key::Index(own) if own == index => return Ok(node),
                _ => {}
            }
        }
        Err(ErrorKind::NotFound.at(self.json.at))
    }

    /// Returns the values of a container.
    ///
    /// # Errors
    /// [`ErrorKind::OtherType`] when it is none.
    pub fn children(self) -> Result<Children<'t>, Error> {
        match self.value()? {
            Value::Container(_, children) => Ok(children),
            _ => Err(self.other_type()),
        }
    }

    /// Finds the tensor that the value names, in a pass over the header of the model.
    ///
    /// # Errors
    /// [`ErrorKind::NoTensor`] when the file has none of this name; [`ErrorKind::OtherType`] when the value
    /// is no tensor; those of [`Model::find`]. A name with escapes is decoded into the window.
    pub fn find<S: ReadAt>(
        self,
        model: &mut Model<S>,
        window: &mut [u8],
    ) -> Result<TensorInfo, LoadError<S::Error>> {
        let Value::Tensor(name) = self.value()? else { return Err(self.other_type().into()) };
        let found = match name.as_str() {
            Some(name) => model.find(name, window)?,
            None => {
                let len = name.decoded_len().min(window.len());
                let (text, window) = window.split_at_mut_checked(len).unwrap_or_default();
                model.find(name.decode(text)?, window)?
            }
        };
        found.ok_or_else(|| ErrorKind::NoTensor.at(at(name)).into())
    }

    /// Returns the value of a type of one's own, if the file gives it this name.
    ///
    /// # Errors
    /// [`ErrorKind::OtherType`] when the value has another type.
    pub fn own(self, data_type: &str) -> Result<Json<'t>, Error> {
        let parts = self.parts()?;
        if parts.data_type.is(data_type) { Ok(parts.value) } else { Err(self.other_type()) }
    }

    /// Returns a further member that a type of one's own has in the file.
    pub fn extra(self, name: &str) -> Option<Json<'t>> {
        self.json.member(name)
    }

    /// Returns the error of a value that does not have the form of its type: for types of your own.
    pub fn wrong(self) -> Error {
        ErrorKind::Scalar.at(self.json.at)
    }

    /// Returns whether the value, as a key of a dictionary, has this name: Python's `str` of it. That of a
    /// tuple, a tensor or a type of one's own is not compared.
    fn is_named(self, name: JsonStr<'_>) -> Result<bool, Error> {
        Ok(match self.value()? {
            Value::None => name.is("None"),
            Value::Bool(true) => name.is("True"),
            Value::Bool(false) => name.is("False"),
            Value::Int(text) | Value::Float(text) | Value::Complex(text) => name.is(text),
            Value::Str(text) => text == name,
            Value::Container(container, _) => container == Container::Tuple,
            Value::Tensor(_) | Value::Other(..) => true,
        })
    }

    /// Returns the error of a value of another type: at its type.
    pub(crate) fn other_type(self) -> Error {
        match self.parts() {
            Ok(parts) => ErrorKind::OtherType.at(at(parts.data_type)),
            Err(error) => error,
        }
    }

    fn parts(self) -> Result<Parts<'t>, Error> {
        if self.json.first() != b'{' {
            return Err(ErrorKind::NotObject.at(self.json.at));
        }
        let (mut data_type, mut value, mut keys) = (None, None, None);
        for (name, json) in self.json.members() {
            let part = match () {
                () if name.is("data_type") => &mut data_type,
                () if name.is("value") => &mut value,
                () if name.is("keys") => &mut keys,
                () => continue,
            };
            if part.replace(json).is_some() {
                return Err(ErrorKind::DuplicateMember.at(at(name)));
            }
        }
        let data_type = data_type.and_then(Json::as_string).ok_or(ErrorKind::NoType.at(self.json.at))?;
        Ok(Parts { data_type, value: value.ok_or(ErrorKind::NoValue.at(self.json.at))?, keys })
    }
}

impl<'t> From<Json<'t>> for Node<'t> {
    /// Takes a value of JSON as one of the structure: for a type of one's own that contains some.
    fn from(json: Json<'t>) -> Self {
        Self { json }
    }
}

/// Returns the offset of a string in the schema, which has at most 2^32 bytes.
pub(crate) fn at(string: JsonStr<'_>) -> u32 {
    u32::try_from(string.at()).unwrap_or(u32::MAX)
}

/// Returns the text of a number, which the package writes as a string.
fn number(value: Json<'_>) -> Option<&str> {
    let text = value.as_number().or_else(|| value.as_string()?.as_str())?;
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())).then_some(text)
}

/// Returns whether a text is an integer in decimal, with a sign or without.
fn is_integer(text: &str) -> bool {
    after_digits(after_sign(text.as_bytes())).is_some_and(<[u8]>::is_empty)
}

/// Returns whether a text is a float as Python's `str` prints it.
fn is_float(text: &str) -> bool {
    let is_end = |text: &[u8]| match text {
        [b'e' | b'E', exponent @ ..] => after_digits(after_sign(exponent)).is_some_and(<[u8]>::is_empty),
        text => text.is_empty(),
    };
    matches!(text, "nan" | "inf" | "-inf") || after_fraction(after_sign(text.as_bytes())).is_some_and(is_end)
}

/// Returns whether a text is a complex number as Python's `str` prints it: `2j`, `(1+2j)`, `(nan-infj)`.
fn is_complex(text: &str) -> bool {
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let Some(number) = inner.strip_suffix('j') else { return is_float(inner) };
    // The sign between the parts; others are in front, and after an e.
    let is_between = |pair: &[u8]| matches!(pair, [before, b'+' | b'-'] if !matches!(before, b'e' | b'E'));
    let parts = number.as_bytes().windows(2).position(is_between);
    match parts.and_then(|before| number.split_at_checked(before + 1)) {
        Some((real, imaginary)) => {
            is_float(real) && (is_float(imaginary) || matches!(imaginary, "+nan" | "+inf"))
        }
        None => is_float(number),
    }
}

/// Returns what follows digits, or digits with a fraction.
fn after_fraction(text: &[u8]) -> Option<&[u8]> {
    match after_digits(text)? {
        [b'.', fraction @ ..] => after_digits(fraction),
        rest => Some(rest),
    }
}

fn after_sign(text: &[u8]) -> &[u8] {
    match text {
        [b'+' | b'-', text @ ..] => text,
        text => text,
    }
}

/// Returns what follows at least one digit.
fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let (mut rest, mut count) = (text, 0_u32);
    while let [b'0'..=b'9', next @ ..] = rest {
        (rest, count) = (next, count.saturating_add(1));
    }
    (count > 0).then_some(rest)
}

/// The values in a container, in the file's order.
///
/// *Memory*: 20 bytes on a 32-bit target, `Copy`; borrows the text of the schema.
#[derive(Clone, Copy, Debug)]
pub struct Children<'t> {
    pub(crate) text: &'t str,
    pub(crate) frame: Frame,
}

impl<'t> Children<'t> {
    fn of_sequence(value: Json<'t>) -> Result<Self, Error> {
        match value.first() {
            b'[' => Ok(Self { text: value.text, frame: Frame::Sequence { next: value.at + 1, index: 0 } }),
            _ => Err(ErrorKind::NotArray.at(value.at)),
        }
    }

    fn of_fields(value: Json<'t>) -> Result<Self, Error> {
        match value.first() {
            b'{' => Ok(Self { text: value.text, frame: Frame::Fields { next: value.at + 1 } }),
            _ => Err(ErrorKind::NotMembers.at(value.at)),
        }
    }

    fn of_entries(value: Json<'t>, keys: Json<'t>) -> Result<Self, Error> {
        let Json { text, at } = value;
        match value.first() {
            b'{' => Ok(Self { text, frame: Frame::Entries { next: at + 1, key: keys.at + 1 } }),
            _ => Err(ErrorKind::NotMembers.at(value.at)),
        }
    }

    /// Returns the next value and where it is, or `None` after the last one.
    ///
    /// # Errors
    /// [`ErrorKind::Keys`] when the next key of a dictionary is not the next of its `"keys"`: the package
    /// writes both in the same order. [`ErrorKind::KeyName`] when the key itself is another one; those of its
    /// [`value`](Node::value). Every further call returns the same error.
    #[allow(clippy::should_implement_trait)] // it can fail, and a loop over results would have no end
    pub fn next(&mut self) -> Result<Option<(Key<'t>, Node<'t>)>, Error> {
        let text = self.text;
        let (key, json) = match &mut self.frame {
            Frame::Sequence { next, index } => {
                let mut items = Items { text, at: *next };
                let Some(json) = items.next() else { return Ok(None) };
                let own = *index;
                (*next, *index) = (items.at, own.saturating_add(1));
                (Key::Index(own), json)
            }
            Frame::Fields { next } => {
                let mut members = Members { text, at: *next };
                let Some((name, json)) = members.next() else { return Ok(None) };
                *next = members.at;
                (Key::Field(name), json)
            }
            Frame::Entries { next, key } => {
                let (mut values, mut keys) = (Members { text, at: *next }, Members { text, at: *key });
                let (name, json, own) = match (values.next(), keys.next()) {
                    (Some((name, json)), Some((same, own))) if name == same => (name, json, own),
                    (None, None) => return Ok(None),
                    (Some((name, _)), _) | (None, Some((name, _))) => {
                        return Err(ErrorKind::Keys.at(at(name)));
                    }
                };
                let own = Node::from(own);
                if !own.is_named(name)? {
                    return Err(ErrorKind::KeyName.at(at(name)));
                }
                (*next, *key) = (values.at, keys.at);
                (Key::Entry { text: name, key: own }, json)
            }
        };
        Ok(Some((key, json.into())))
    }

    /// Returns the number of values that are left. Takes a pass over them.
    pub fn count(self) -> u32 {
        let left = match self.frame {
            Frame::Sequence { next, .. } => Items { text: self.text, at: next }.count(),
            Frame::Fields { next } | Frame::Entries { next, .. } => {
                Members { text: self.text, at: next }.count()
            }
        };
        u32::try_from(left).unwrap_or(u32::MAX)
    }
}
