//! Values as types of Rust.

use crate::error::{Error, ErrorKind};
use crate::node::{Node, Value};
use embedded_safetensors::metadata::JsonStr;

/// A type that a value of a structure can be read as, with [`Node::read`].
///
/// For a type of your own, [`Node::own`] compares its name in the file and returns its value:
///
/// ```
/// use embedded_safestructures::{Error, FromNode, Node, Structure};
///
/// #[derive(Debug, PartialEq)]
/// struct Range {
///     low: f32,
///     high: f32,
/// }
///
/// impl<'t> FromNode<'t> for Range {
///     fn from_node(node: Node<'t>) -> Result<Self, Error> {
///         let mut ends = node.own("sensors.Range")?.items().map(|end| end.as_number()?.parse().ok());
///         match (ends.next().flatten(), ends.next().flatten()) {
///             (Some(low), Some(high)) => Ok(Self { low, high }),
///             _ => Err(node.wrong()),
///         }
///     }
/// }
///
/// let schema = r#"{"data_type": "sensors.Range", "value": [-40, 85.5], "unit": "degree"}"#;
/// assert_eq!(Structure::parse(schema)?.root().read(), Ok(Range { low: -40.0, high: 85.5 }));
/// # assert_eq!(Structure::parse(schema)?.root().read::<bool>().unwrap_err().kind.code(), "usage.type");
/// # Ok::<(), Error>(())
/// ```
pub trait FromNode<'t>: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// [`ErrorKind::OtherType`] when the value has another type; others as the type says.
    fn from_node(node: Node<'t>) -> Result<Self, Error>;
}

macro_rules! integers {
    ($($name:ident)*) => {$(
        impl<'t> FromNode<'t> for $name {
            /// Reads an integer.
            fn from_node(node: Node<'t>) -> Result<Self, Error> {
                match node.value()? {
                    Value::Int(digits) => digits.parse().map_err(|_| ErrorKind::Number.at(node.at())),
                    _ => Err(node.other_type()),
                }
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! floats {
    ($($name:ident)*) => {$(
        impl<'t> FromNode<'t> for $name {
            /// Reads a float or an integer, rounded to the nearest. [`ErrorKind::Number`] when it overflows.
            fn from_node(node: Node<'t>) -> Result<Self, Error> {
                match node.value()? {
                    Value::Int(text) | Value::Float(text) => match text.parse::<$name>() {
                        // Other texts have overflowed.
                        Ok(number) if number.is_infinite() && !matches!(text, "inf" | "-inf") => {
                            Err(ErrorKind::Number.at(node.at()))
                        }
                        Ok(number) => Ok(number),
                        Err(_) => Err(ErrorKind::Number.at(node.at())),
                    },
                    _ => Err(node.other_type()),
                }
            }
        }
    )*};
}

floats! { f32 f64 }

impl<'t> FromNode<'t> for bool {
    fn from_node(node: Node<'t>) -> Result<Self, Error> {
        match node.value()? {
            Value::Bool(value) => Ok(value),
            _ => Err(node.other_type()),
        }
    }
}

impl<'t> FromNode<'t> for JsonStr<'t> {
    /// Reads a text.
    fn from_node(node: Node<'t>) -> Result<Self, Error> {
        match node.value()? {
            Value::Str(text) => Ok(text),
            _ => Err(node.other_type()),
        }
    }
}

impl<'t> FromNode<'t> for &'t str {
    /// Reads a text without escapes. Python escapes all that is not ASCII.
    fn from_node(node: Node<'t>) -> Result<Self, Error> {
        JsonStr::from_node(node)?.as_str().ok_or(ErrorKind::Escapes.at(node.at()))
    }
}

impl<'t, T: FromNode<'t>> FromNode<'t> for Option<T> {
    /// Reads `None`, or a value.
    fn from_node(node: Node<'t>) -> Result<Self, Error> {
        match node.value()? {
            Value::None => Ok(None),
            _ => T::from_node(node).map(Some),
        }
    }
}

impl<'t, T: FromNode<'t> + Copy + Default, const N: usize> FromNode<'t> for [T; N] {
    /// Reads a container with exactly `N` values; of a dictionary, without the keys.
    fn from_node(node: Node<'t>) -> Result<Self, Error> {
        let mut children = node.children()?;
        let (found, requested) = (children.count(), u32::try_from(N).unwrap_or(u32::MAX));
        let other_count = ErrorKind::Count { found, requested }.at(node.at());
        if found != requested {
            return Err(other_count);
        }
        let mut values = [T::default(); N];
        for slot in &mut values {
            let (_, child) = children.next()?.ok_or(other_count)?;
            *slot = child.read()?;
        }
        // The keys of a dictionary must end, too.
        match children.next()? {
            None => Ok(values),
            Some(_) => Err(other_count),
        }
    }
}
