//! Values of metadata as text.

use super::DEEPEST;
use super::input::Input;
use std::fmt;
use std::io;

/// What the bytes of a value mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Unsigned,
    Signed,
    Float,
    Bool,
    String,
    Array,
}

/// A type of values: its name in texts, and the least number of bytes of a value.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    pub name: &'static str,
    pub class: Class,
    pub least: u32,
    pub number: u32,
}

pub const UINT32: Type = Type { name: "uint32", class: Class::Unsigned, least: 4, number: 4 };
pub const STRING: Type = Type { name: "string", class: Class::String, least: 8, number: 8 };
/// In the order of their numbers.
const TYPES: [Type; 13] = [
    Type { name: "uint8", class: Class::Unsigned, least: 1, number: 0 },
    Type { name: "int8", class: Class::Signed, least: 1, number: 1 },
    Type { name: "uint16", class: Class::Unsigned, least: 2, number: 2 },
    Type { name: "int16", class: Class::Signed, least: 2, number: 3 },
    UINT32,
    Type { name: "int32", class: Class::Signed, least: 4, number: 5 },
    Type { name: "float32", class: Class::Float, least: 4, number: 6 },
    Type { name: "bool", class: Class::Bool, least: 1, number: 7 },
    STRING,
    Type { name: "array", class: Class::Array, least: 12, number: 9 },
    Type { name: "uint64", class: Class::Unsigned, least: 8, number: 10 },
    Type { name: "int64", class: Class::Signed, least: 8, number: 11 },
    Type { name: "float64", class: Class::Float, least: 8, number: 12 },
];

impl Type {
    pub fn of_name(name: &str) -> Option<Self> {
        TYPES.into_iter().find(|kind| kind.name == name)
    }

    /// Reads the number of a type.
    pub fn read(input: &mut Input<'_>) -> io::Result<Self> {
        let number = input.u32()?;
        let found = TYPES.into_iter().find(|kind| kind.number == number);
        found.ok_or_else(|| input.place.unsound(format!("type {number} is unknown")))
    }

    /// Returns the number of bits that a number has less than 64.
    pub fn shift(self) -> u32 {
        64 - 8 * self.least
    }
}

/// The kind of the error of a text that becomes longer than allowed.
pub const TOO_LONG: io::ErrorKind = io::ErrorKind::StorageFull;

/// A text of limited length; or none, if values are only validated.
pub struct Text {
    text: String,
    /// How many more bytes are allowed; `None` if there is no text.
    left: Option<usize>,
}

impl Text {
    pub fn new(most: usize) -> Self {
        Self { text: String::new(), left: Some(most) }
    }

    pub fn without() -> Self {
        Self { text: String::new(), left: None }
    }

    pub fn into_string(self) -> String {
        self.text
    }

    /// Appends a part, for `write!`.
    ///
    /// # Errors
    /// [`TOO_LONG`].
    pub fn write_fmt(&mut self, part: fmt::Arguments<'_>) -> io::Result<()> {
        fmt::Write::write_fmt(self, part).map_err(|_| TOO_LONG.into())
    }

    /// Appends items with commas between them, in brackets.
    pub fn push_list<T>(
        &mut self,
        [open, close]: [char; 2],
        items: impl Iterator<Item = T>,
        mut push: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        write!(self, "{open}")?;
        for (index, item) in items.enumerate() {
            self.push_comma(index as u64)?;
            push(self, item)?;
        }
        write!(self, "{close}")
    }

    /// Appends what is before the item with this index.
    fn push_comma(&mut self, index: u64) -> io::Result<()> {
        if index > 0 { write!(self, ",") } else { Ok(()) }
    }

    /// Appends bytes as hexadecimal digits.
    fn push_hex(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.iter().try_for_each(|byte| write!(self, "{byte:02x}"))
    }

    /// Appends a string as JSON has it.
    pub fn push_quoted(&mut self, string: &str) -> io::Result<()> {
        write!(self, "\"")?;
        for part in string.split_inclusive(|character| matches!(character, '"' | '\\' | '\0'..='\x1f')) {
            let mut plain = part.chars();
            match plain.next_back() {
                Some(last @ ('"' | '\\')) => write!(self, "{}\\{last}", plain.as_str())?,
                Some('\n') => write!(self, "{}\\n", plain.as_str())?,
                Some(last @ '\0'..='\x1f') => write!(self, "{}\\u{:04x}", plain.as_str(), u32::from(last))?,
                _ => write!(self, "{part}")?,
            }
        }
        write!(self, "\"")
    }
}

impl fmt::Write for Text {
    /// Fails if the text becomes too long.
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(part.len()).ok_or(fmt::Error)?;
            self.text.push_str(part);
        }
        Ok(())
    }
}

/// Reads a value, and writes its type and its text.
///
/// # Errors
/// The value is not sound; or the text is longer than allowed.
pub fn read(input: &mut Input<'_>, text: &mut Text) -> io::Result<()> {
    let kind = Type::read(input)?;
    if kind.class != Class::String {
        write!(text, "{}:", kind.name)?;
        return read_typed(input, kind, 1, text);
    }
    let string = read_string(input, text)?;
    match str::from_utf8(&string) {
        Ok(string) => write!(text, "string:{string}"),
        Err(_) => {
            write!(text, "string-hex:")?;
            text.push_hex(&string)
        }
    }
}

/// Reads a value in so many arrays, and this one if it is one. Strings are those of arrays.
fn read_typed(input: &mut Input<'_>, kind: Type, depth: usize, text: &mut Text) -> io::Result<()> {
    match kind.class {
        Class::Array if depth > DEEPEST => {
            Err(input.place.beyond(format!("its arrays are more than {DEEPEST} deep")))
        }
        Class::Array => read_array(input, depth, text),
        Class::String => {
            let string = read_string(input, text)?;
            match str::from_utf8(&string) {
                Ok(string) => text.push_quoted(string),
                Err(_) => text.push_hex(&string),
            }
        }
        _ => read_number(input, kind, text),
    }
}

fn read_array(input: &mut Input<'_>, depth: usize, text: &mut Text) -> io::Result<()> {
    let (kind, count) = (Type::read(input)?, input.u64()?);
    let (name, rest) = (kind.name, input.left());
    if count > rest / u64::from(kind.least) {
        let claim = format!("an array claims {count} items of type {name}");
        return Err(input.place.unsound(format!("{claim}, which do not fit the {rest} bytes left")));
    }
    write!(text, "{name}[")?;
    for index in 0..count {
        text.push_comma(index)?;
        read_typed(input, kind, depth + 1, text)?;
    }
    write!(text, "]")
}

/// Reads a string; one that the text has no room for is not stored.
fn read_string(input: &mut Input<'_>, text: &Text) -> io::Result<Vec<u8>> {
    let len = input.string_len()?;
    match text.left {
        None => input.skip(len).map(|()| Vec::new()),
        Some(left) if len > left as u64 => Err(TOO_LONG.into()),
        Some(_) => input.string(len),
    }
}

fn read_number(input: &mut Input<'_>, kind: Type, text: &mut Text) -> io::Result<()> {
    if text.left.is_none() && kind.class != Class::Bool {
        return input.skip(kind.least.into());
    }
    let bits = input.word(kind.least)?;
    let single = f32::from_bits(u32::try_from(bits).unwrap_or_default());
    let double = f64::from_bits(bits);
    match (kind.class, kind.least) {
        (Class::Signed, _) => write!(text, "{}", (bits << kind.shift()).cast_signed() >> kind.shift()),
        (Class::Float, 4) if single.is_nan() => write!(text, "0x{bits:08x}"),
        (Class::Float, 4) => write!(text, "{single:?}"),
        (Class::Float, _) if double.is_nan() => write!(text, "0x{bits:016x}"),
        (Class::Float, _) => write!(text, "{double:?}"),
        (Class::Bool, _) if bits > 1 => {
            let reason = format!("a boolean is 0 or 1, but this one is {bits}");
            Err(input.place.unsound(reason))
        }
        (Class::Bool, _) => write!(text, "{}", bits == 1),
        _ => write!(text, "{bits}"),
    }
}
