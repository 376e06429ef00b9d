//! Errors: each has a stable code, a sentence, and the byte of the schema where it was found.

use core::fmt;
use embedded_safetensors::error::Class;
use embedded_safetensors::{ReadError, error};

/// What is wrong with a structure, or with what was requested of it. `Display` is one sentence.
///
/// *Memory*: 32 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The schema is not JSON.
    Json(error::ErrorKind),
    /// A byte that JSON does not allow there.
    Syntax(u8),
    /// The schema is not one value of JSON.
    NotOneValue,
    /// The schema ends inside its JSON.
    End,
    /// The schema has more than 125 open brackets.
    Depth,
    /// The file has a schema but not its version.
    NoVersion,
    /// The schema has another version than [`VERSION`](crate::VERSION): its numbers, if it has three.
    Version(Option<[u16; 3]>),
    /// A value is not an object.
    NotObject,
    /// A value lacks the member `"data_type"`, or it is not a string.
    NoType,
    /// A value lacks the member `"value"`.
    NoValue,
    /// A value has a member twice.
    DuplicateMember,
    /// The value of a list, a tuple or a set is not an array.
    NotArray,
    /// The value of a dictionary or a data class is not an object.
    NotMembers,
    /// The value is not JSON of the kind that its type has.
    Scalar,
    /// A dictionary lacks the member `"keys"`, or it is not an object.
    NoKeys,
    /// The `"value"` and the `"keys"` of a dictionary do not have the same keys in the same order.
    Keys,
    /// A key of a dictionary does not have the text of its name, or is a list, a set, a dictionary or a data
    /// class, which Python cannot hash.
    KeyName,
    /// The file has no tensor of the name.
    NoTensor,
    /// More levels than frames.
    Frames {
        /// As many are enough.
        needed: u32,
        /// The number of frames.
        capacity: u32,
    },
    /// The buffer for the schema is too small.
    Text {
        /// The bytes of the schema.
        needed: u64,
        /// The bytes of the buffer.
        capacity: u64,
    },
    /// The value has another type than requested.
    OtherType,
    /// The number does not fit the requested type.
    Number,
    /// The text has escapes, and a `&str` was requested.
    Escapes,
    /// The container has no such key, field or index.
    NotFound,
    /// The container has another number of values than requested.
    Count {
        /// The number of values.
        found: u32,
        /// The number requested.
        requested: u32,
    },
    /// A key of a dictionary to write is a container, a tensor or a type of one's own.
    KeyType,
    /// Two keys or fields to write have the same name.
    SameName,
    /// A type of one's own to write has the name of a type that the package knows.
    OwnName,
}

impl ErrorKind {
    /// Returns the stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Json(kind) => kind.code(),
            Self::Syntax(_) | Self::NotOneValue => "json.syntax",
            Self::End => "json.end",
            Self::Depth => "json.depth",
            Self::NoVersion | Self::Version(_) => "structure.version",
            Self::NotObject => "structure.object",
            Self::NoType => "structure.type",
            Self::NoValue => "structure.value",
            Self::DuplicateMember => "structure.duplicate",
            Self::NotArray | Self::NotMembers | Self::Scalar => "structure.kind",
            Self::NoKeys => "structure.keys",
            Self::Keys | Self::KeyName => "structure.key",
            Self::NoTensor => "structure.tensor",
            Self::Frames { .. } => "limit.frames",
            Self::Text { .. } => "limit.schema",
            Self::OtherType => "usage.type",
            Self::Number => "usage.number",
            Self::Escapes => "usage.escapes",
            Self::NotFound => "usage.path",
            Self::Count { .. } => "usage.count",
            Self::KeyType => "usage.key",
            Self::SameName => "usage.duplicate",
            Self::OwnName => "usage.name",
        }
    }

    /// Returns which side must act.
    pub const fn class(self) -> Class {
        match self {
            Self::Json(kind) => kind.class(),
            Self::Frames { .. } | Self::Text { .. } => Class::Limit,
            Self::OtherType | Self::Number | Self::Escapes => Class::Usage,
            Self::NotFound | Self::Count { .. } | Self::KeyType => Class::Usage,
            Self::SameName | Self::OwnName => Class::Usage,
            _ => Class::File,
        }
    }

    /// Returns the error at a byte of the schema.
    pub(crate) const fn at(self, at: u32) -> Error {
        Error { kind: self, at }
    }

    /// Returns the sentence, if it has no numbers.
    const fn sentence(self) -> &'static str {
        match self {
            Self::NotOneValue => "the schema is not valid JSON",
            Self::End => "the schema ends inside its JSON",
            Self::Depth => "the schema has more than 125 open brackets",
            Self::NoVersion => "the file has a schema, but \"_safestructures_schema_version_\" is missing",
            Self::NotObject => "a value must be an object with \"data_type\" and \"value\"",
            Self::NoType => "a value has no \"data_type\", or it is not a string",
            Self::NoValue => "a value has no \"value\"",
            Self::DuplicateMember => "a value has a duplicate member",
            Self::NotArray => "the \"value\" of a list, a tuple or a set must be an array",
            Self::NotMembers => "the \"value\" of a dictionary or a data class must be an object",
            Self::Scalar => "the \"value\" does not have the form of its \"data_type\"",
            Self::NoKeys => "a dictionary has no \"keys\", or they are not an object",
            Self::Keys => "the \"value\" and the \"keys\" of a dictionary differ from this key on",
            Self::KeyName => "a key of a dictionary does not have the text of its name, or cannot be a key",
            Self::NoTensor => "the file has no tensor of this name",
            Self::OtherType => "the value has another type than requested",
            Self::Number => "the number does not fit the requested type",
            Self::Escapes => "the text has escapes: request a JsonStr, which decodes them",
            Self::NotFound => "the value has no such key, field or index, or it is not such a container",
            Self::SameName => "two keys or fields have the same name, or are equal in Python",
            Self::OwnName => "a type of one's own has the name of a type that the package knows",
            _ => "a key must be None, a boolean, a number or a text",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(kind) => write!(f, "the schema is not JSON: {kind}"),
            Self::Syntax(byte) => {
                write!(f, "unexpected '{}' in the JSON of the schema", byte.escape_ascii())
            }
            Self::Version(Some([a, b, c])) => {
                write!(f, "the schema has version {a}.{b}.{c}, but only 1.0.0 is supported")
            }
            Self::Version(None) => {
                f.write_str("the version of the schema is not three numbers as in 1.0.0, which is supported")
            }
            Self::Frames { needed, capacity } => {
                let s = plural(u64::from(*needed));
                write!(f, "too many levels: {needed} frame{s} needed, {capacity} available")
            }
            Self::Text { needed, capacity } => {
                let s = plural(*needed);
                write!(f, "buffer too small for the schema: {needed} byte{s} needed, {capacity} available")
            }
            Self::Count { found, requested } => {
                let s = plural(u64::from(*found));
                write!(f, "the value has {found} element{s}, but a type with {requested} was requested")
            }
            _ => f.write_str(self.sentence()),
        }
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// An error: its kind, and the byte of the schema where it was found.
///
/// *Memory*: at most 40 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// The offset in the text of the schema. 0 for an error of the version.
    pub at: u32,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}] at byte {} of the schema: {}", self.kind.code(), self.at, self.kind)
    }
}

impl core::error::Error for Error {}

/// Why a structure could not be read from a model.
///
/// *Memory*: as [`ReadError`], at least 48 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError<E> {
    /// The model could not be read.
    Read(ReadError<E>),
    /// The structure is wrong, or is not what was requested.
    Structure(Error),
}

impl<E> From<ReadError<E>> for LoadError<E> {
    fn from(error: ReadError<E>) -> Self {
        Self::Read(error)
    }
}

impl<E> From<embedded_safetensors::Error> for LoadError<E> {
    fn from(error: embedded_safetensors::Error) -> Self {
        Self::Read(ReadError::Format(error))
    }
}

impl<E> From<Error> for LoadError<E> {
    fn from(error: Error) -> Self {
        Self::Structure(error)
    }
}

impl<E: fmt::Display> fmt::Display for LoadError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Structure(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for LoadError<E> {}
