//! Values of metadata as text.

use super::DEEPEST;
use super::input::{Input, Place};
use std::fmt::{Display, Write};
use std::io;

/// Declares [`Type`]: each type of values, in the order of the numbers that files contain.
macro_rules! types {
    ($($variant:ident, $name:literal, $width:literal;)+) => {
        /// A type of values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Type {
            $($variant,)+
        }

        impl Type {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name of the type in texts.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the least number of bytes of a value.
            pub fn least(self) -> u64 {
                match self {
                    $(Self::$variant => $width,)+
                }
            }
        }
    };
}

types! {
    Uint8, "uint8", 1;
    Int8, "int8", 1;
    Uint16, "uint16", 2;
    Int16, "int16", 2;
    Uint32, "uint32", 4;
    Int32, "int32", 4;
    Float32, "float32", 4;
    Bool, "bool", 1;
    String, "string", 8;
    Array, "array", 12;
    Uint64, "uint64", 8;
    Int64, "int64", 8;
    Float64, "float64", 8;
}

impl Type {
    pub fn number(self) -> u32 {
        self as u32
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|kind| kind.name() == name).copied()
    }

    /// Reads the number of a type.
    pub fn read(input: &mut Input<'_>) -> io::Result<Self> {
        let number = input.u32()?;
        let found = usize::try_from(number).ok().and_then(|index| Self::ALL.get(index));
        found.copied().ok_or_else(|| input.place.unsound(format!("type {number} is unknown")))
    }
}

/// A text of limited length; or none, if values are only validated.
pub struct Text {
    text: String,
    /// How many more bytes are allowed.
    left: usize,
    is_kept: bool,
}

impl Text {
    pub fn new(most: usize) -> Self {
        Self { text: String::new(), left: most, is_kept: true }
    }

    pub fn without() -> Self {
        Self { text: String::new(), left: 0, is_kept: false }
    }

    pub fn into_string(self) -> String {
        self.text
    }

    /// Appends items with commas between them, in brackets.
    pub fn push_list<T>(
        &mut self,
        [open, close]: [char; 2],
        items: impl Iterator<Item = T>,
        mut push: impl FnMut(&mut Self, T) -> std::fmt::Result,
    ) -> std::fmt::Result {
        self.write_char(open)?;
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.write_char(',')?;
            }
            push(self, item)?;
        }
        self.write_char(close)
    }

    /// Appends bytes as hexadecimal digits.
    fn push_hex(&mut self, bytes: &[u8]) -> std::fmt::Result {
        bytes.iter().try_for_each(|byte| write!(self, "{byte:02x}"))
    }

    /// Appends a string as JSON has it.
    pub fn push_quoted(&mut self, string: &str) -> std::fmt::Result {
        self.write_char('"')?;
        for part in string.split_inclusive(|character| matches!(character, '"' | '\\' | '\0'..='\x1f')) {
            let mut plain = part.chars();
            match plain.next_back() {
                Some(last @ ('"' | '\\')) => write!(self, "{}\\{last}", plain.as_str())?,
                Some('\n') => write!(self, "{}\\n", plain.as_str())?,
                Some(last @ '\0'..='\x1f') => write!(self, "{}\\u{:04x}", plain.as_str(), u32::from(last))?,
                _ => self.write_str(part)?,
            }
        }
        self.write_char('"')
    }
}

impl Write for Text {
    /// Fails if the text becomes too long.
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        if self.is_kept {
            self.left = self.left.checked_sub(part.len()).ok_or(std::fmt::Error)?;
            self.text.push_str(part);
        }
        Ok(())
    }
}

/// An array that has been begun.
struct Array {
    kind: Type,
    left: u64,
    is_first: bool,
}

/// Reads a value, and writes its type and its text.
///
/// # Errors
/// The value is not sound; or the text is longer than allowed.
pub fn read(input: &mut Input<'_>, text: &mut Text) -> io::Result<()> {
    match Type::read(input)? {
        Type::Array => {
            put(text, &input.place, "array:")?;
            read_array(input, text)
        }
        Type::String => {
            let string = read_string(input, text)?;
            match String::from_utf8(string) {
                Ok(string) => put(text, &input.place, format_args!("string:{string}")),
                Err(error) => {
                    put(text, &input.place, "string-hex:")?;
                    text.push_hex(error.as_bytes()).map_err(|_| too_long(&input.place))
                }
            }
        }
        kind => {
            put(text, &input.place, format_args!("{}:", kind.name()))?;
            read_number(input, kind, text)
        }
    }
}

fn put(text: &mut Text, place: &Place, part: impl Display) -> io::Result<()> {
    write!(text, "{part}").map_err(|_| too_long(place))
}

/// Returns the error about texts that are too long.
pub fn too_long(place: &Place) -> io::Error {
    place.beyond("with it, the texts of the metadata are longer than 24 MiB; the metadata can be left out (--no-metadata)")
}

/// Reads an array and all arrays in it, without recursion.
fn read_array(input: &mut Input<'_>, text: &mut Text) -> io::Result<()> {
    let mut arrays = vec![begin_array(input, text)?];
    loop {
        let depth = arrays.len();
        let Some(array) = arrays.last_mut() else { return Ok(()) };
        if array.left == 0 {
            put(text, &input.place, "]")?;
            arrays.pop();
            continue;
        }
        array.left -= 1;
        if !std::mem::take(&mut array.is_first) {
            put(text, &input.place, ",")?;
        }
        match array.kind {
            Type::Array if depth == DEEPEST => {
                return Err(input.place.beyond(format!("its arrays are more than {DEEPEST} deep")));
            }
            Type::Array => arrays.push(begin_array(input, text)?),
            Type::String => read_item(input, text)?,
            kind => read_number(input, kind, text)?,
        }
    }
}

fn begin_array(input: &mut Input<'_>, text: &mut Text) -> io::Result<Array> {
    let (kind, left) = (Type::read(input)?, input.u64()?);
    if left > input.left() / kind.least() {
        let (name, rest) = (kind.name(), input.left());
        return Err(input.place.unsound(format!(
            "an array claims {left} items of type {name}, which do not fit the {rest} bytes left"
        )));
    }
    put(text, &input.place, format_args!("{}[", kind.name()))?;
    Ok(Array { kind, left, is_first: true })
}

/// Reads a string; one that the text has no room for is not stored.
fn read_string(input: &mut Input<'_>, text: &Text) -> io::Result<Vec<u8>> {
    let len = input.string_len()?;
    if !text.is_kept {
        return input.skip(len).map(|()| Vec::new());
    }
    if len > text.left as u64 {
        return Err(too_long(&input.place));
    }
    input.string(len)
}

fn read_item(input: &mut Input<'_>, text: &mut Text) -> io::Result<()> {
    let string = read_string(input, text)?;
    let done = match str::from_utf8(&string) {
        Ok(string) => text.push_quoted(string),
        Err(_) => text.push_hex(&string),
    };
    done.map_err(|_| too_long(&input.place))
}

fn read_number(input: &mut Input<'_>, kind: Type, text: &mut Text) -> io::Result<()> {
    if !text.is_kept && kind != Type::Bool {
        return input.skip(kind.least());
    }
    let done = match kind {
        Type::Uint8 => write!(text, "{}", u8::from_le_bytes(input.number()?)),
        Type::Int8 => write!(text, "{}", i8::from_le_bytes(input.number()?)),
        Type::Uint16 => write!(text, "{}", u16::from_le_bytes(input.number()?)),
        Type::Int16 => write!(text, "{}", i16::from_le_bytes(input.number()?)),
        Type::Uint32 => write!(text, "{}", input.u32()?),
        Type::Int32 => write!(text, "{}", i32::from_le_bytes(input.number()?)),
        Type::Uint64 => write!(text, "{}", input.u64()?),
        Type::Int64 => write!(text, "{}", i64::from_le_bytes(input.number()?)),
        Type::Float32 => match f32::from_le_bytes(input.number()?) {
            float if float.is_nan() => write!(text, "0x{:08x}", float.to_bits()),
            float => write!(text, "{float:?}"),
        },
        Type::Float64 => match f64::from_le_bytes(input.number()?) {
            float if float.is_nan() => write!(text, "0x{:016x}", float.to_bits()),
            float => write!(text, "{float:?}"),
        },
        Type::Bool | Type::String | Type::Array => match input.bytes()? {
            [0] => text.write_str("false"),
            [1] => text.write_str("true"),
            [other] => {
                return Err(input.place.unsound(format!("a boolean is 0 or 1, but this one is {other}")));
            }
        },
    };
    done.map_err(|_| too_long(&input.place))
}
