//! The schema of a file, and the structure that it describes.

use crate::error::{Error, ErrorKind, LoadError};
use crate::explain::Explained;
use crate::json::{Json, depth, validate};
use crate::node::Node;
use crate::walk::{Frame, Walk};
use core::convert::Infallible;
use embedded_safetensors::{Model, ReadAt, ReadError, View, error};

/// The key of `__metadata__` whose value is the schema.
pub const SCHEMA: &str = "_safestructures_schema_";

/// The key of `__metadata__` whose value is the version of the schema.
pub const VERSION_KEY: &str = "_safestructures_schema_version_";

/// The version of schemas that this crate reads and writes.
pub const VERSION: &str = "1.0.0";

/// A longer text is not three numbers of 16 bits.
const LONGEST_VERSION: usize = 24;

/// The structure that a file holds.
///
/// *Memory*: 8 bytes on a 32-bit target, `Copy`; borrows the text of the schema. Its length is that of the
/// value in `__metadata__`, at most; [`ErrorKind::Text`] says how many bytes are needed.
#[derive(Clone, Copy, Debug)]
pub struct Structure<'t> {
    schema: &'t str,
}

impl<'t> Structure<'t> {
    /// Reads the schema of a model into `text`, in two passes over its header. `None` if it has no schema, so
    /// that it is an ordinary file.
    ///
    /// # Errors
    /// [`ErrorKind::Text`] when `text` is too small, with the bytes needed; an error of the version or of the
    /// JSON; those of [`Model::metadata_value`].
    pub fn of_model<S: ReadAt>(
        model: &mut Model<S>,
        text: &'t mut [u8],
        window: &mut [u8],
    ) -> Result<Option<Self>, LoadError<S::Error>> {
        let schema = match model.metadata_value(SCHEMA, text, window) {
            Ok(Some(schema)) => schema,
            Ok(None) => return Ok(None),
            Err(ReadError::Format(error)) => return Err(too_small(error)),
            Err(error) => return Err(error.into()),
        };
        let mut version = [0; LONGEST_VERSION];
        let version = match model.metadata_value(VERSION_KEY, &mut version, window) {
            Err(ReadError::Format(error)) if is_too_small(error) => Some(""),
            version => version?,
        };
        check_version(version)?;
        Ok(Some(Self::parse(schema)?))
    }

    /// Decodes the schema of a model in memory into `text`. `None` if it has no schema.
    ///
    /// # Errors
    /// As [`of_model`](Self::of_model).
    pub fn of_view(view: &View<'_>, text: &'t mut [u8]) -> Result<Option<Self>, LoadError<Infallible>> {
        let Some(schema) = view.metadata_value(SCHEMA)? else { return Ok(None) };
        let schema = schema.decode(text).map_err(too_small)?;
        let mut memory = [0; LONGEST_VERSION];
        let version = view.metadata_value(VERSION_KEY)?;
        check_version(version.map(|version| version.decode(&mut memory).unwrap_or("")))?;
        Ok(Some(Self::parse(schema)?))
    }

    /// Takes the schema of a file whose version has been checked. Takes a pass over it, which validates its
    /// JSON.
    ///
    /// # Errors
    /// [`ErrorKind::Json`] when it is not JSON, or has more than 125 open brackets.
    pub fn parse(schema: &'t str) -> Result<Self, Error> {
        validate(schema)?;
        Ok(Self { schema })
    }

    /// Returns the text of the schema.
    pub fn schema(self) -> &'t str {
        self.schema
    }

    /// Returns the outermost value.
    pub fn root(self) -> Node<'t> {
        Json::whole(self.schema).into()
    }

    /// Returns a number of frames that is enough for a [`Walk`]: the number of levels of containers, or more
    /// if keys or types of one's own are nested deeper. At most 62. Takes a pass over the schema.
    pub fn frames(self) -> u32 {
        depth(self.schema.as_bytes()) / 2
    }

    /// Begins a walk over all values.
    pub fn walk<'f>(self, frames: &'f mut [Frame]) -> Walk<'t, 'f> {
        Walk::new(self, frames)
    }

    /// Adds to an error of this structure its path in it, and the name that it is about.
    pub fn explain(self, error: Error) -> Explained<'t> {
        Explained { structure: self, error }
    }
}

/// Compares the version of a schema, if the file has one, with [`VERSION`].
///
/// # Errors
/// [`ErrorKind::NoVersion`], [`ErrorKind::Version`].
pub fn check_version(version: Option<&str>) -> Result<(), Error> {
    match version {
        Some(VERSION) => Ok(()),
        Some(version) => Err(ErrorKind::Version(numbers(version)).at(0)),
        None => Err(ErrorKind::NoVersion.at(0)),
    }
}

/// Returns the numbers of another version, if it is spelled as they are printed. `str::split` would bring a
/// panic path.
fn numbers(version: &str) -> Option<[u16; 3]> {
    let (mut numbers, mut part, mut before) = ([0_u16; 3], 0, b'.');
    for byte in version.bytes() {
        match byte {
            // No number begins with a zero, but 0 itself.
            b'0'..=b'9' if before != b'0' || numbers.get(part) != Some(&0) => {
                let number = numbers.get_mut(part)?;
                *number = number.checked_mul(10)?.checked_add(u16::from(byte - b'0'))?;
            }
            b'.' if before != b'.' => part += 1,
            _ => return None,
        }
        before = byte;
    }
    (part == 2 && before != b'.').then_some(numbers)
}

fn is_too_small(error: embedded_safetensors::Error) -> bool {
    matches!(error.kind, error::ErrorKind::ValueLength { .. })
}

/// Names the schema in the error of a buffer that is too small for it.
fn too_small<E>(error: embedded_safetensors::Error) -> LoadError<E> {
    match error.kind {
        error::ErrorKind::ValueLength { needed, capacity }
        | error::ErrorKind::BufferLength { needed, capacity } => {
            ErrorKind::Text { needed, capacity }.at(0).into()
        }
        _ => error.into(),
    }
}
