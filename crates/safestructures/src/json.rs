//! Values of JSON in place, in a text that has been validated.

use crate::error::{Error, ErrorKind};
use embedded_safetensors::error;
use embedded_safetensors::header::{Event, HeaderParser};
use embedded_safetensors::metadata::JsonStr;

/// Validates a text as one value of JSON.
///
/// The parser of headers validates the members that it does not know. So the text is validated as such a
/// member, and no second parser is needed.
pub(crate) fn validate(text: &str) -> Result<(), Error> {
    const BEFORE: &[u8] = br#"{"":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"":"#;
    const AFTER: &[u8] = b"}}";
    let len = (BEFORE.len() + text.len() + AFTER.len()) as u64;
    let mut parser = HeaderParser::new();
    for mut piece in [&len.to_le_bytes(), BEFORE, text.as_bytes(), AFTER] {
        loop {
            match parser.next(&mut piece) {
                Ok(Event::NeedInput | Event::HeaderEnd) => break,
                Ok(_) => {}
                Err(error) => return Err(located(error, text, 8 + BEFORE.len())),
            }
        }
    }
    // The text may have closed the brackets before it and opened others.
    let bytes = text.as_bytes();
    let at = after_spaces(bytes, end(bytes, after_spaces(bytes, 0)));
    byte(bytes, at).map_or(Ok(()), |byte| Err(ErrorKind::Syntax(byte).at(at)))
}

/// Returns an error of the parser as one of the text.
fn located(error: embedded_safetensors::Error, text: &str, before: usize) -> Error {
    let (at, len) = (error.at.saturating_sub(before as u64), text.len() as u64);
    let kind = match error.kind {
        // What follows the text belongs to nobody.
        _ if at >= len => ErrorKind::End,
        error::ErrorKind::UnexpectedByte(byte) => ErrorKind::Syntax(byte),
        error::ErrorKind::Depth => ErrorKind::Depth,
        kind if kind.code().starts_with("json.") => ErrorKind::Json(kind),
        // An error of a header, which the text is not.
        _ => ErrorKind::NotOneValue,
    };
    kind.at(u32::try_from(at.min(len)).unwrap_or(u32::MAX))
}

/// Returns the number of brackets that are open at the deepest place.
pub(crate) fn depth(text: &[u8]) -> u32 {
    let (mut at, mut open, mut most) = (0, 0u32, 0);
    while let Some(byte) = byte(text, at) {
        match byte {
            b'"' => {
                at = after_string(text, at);
                continue;
            }
            b'{' | b'[' => open += 1,
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
        at += 1;
    }
    most
}

fn byte(text: &[u8], at: u32) -> Option<u8> {
    text.get(at as usize).copied()
}

fn after_spaces(text: &[u8], mut at: u32) -> u32 {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = byte(text, at) {
        at += 1;
    }
    at
}

/// Returns the offset after the string whose opening quote is at `at`.
fn after_string(text: &[u8], mut at: u32) -> u32 {
    loop {
        at += 1;
        match byte(text, at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 1,
            Some(_) => {}
            None => return at,
        }
    }
}

/// Returns the offset after the value at `at`. Always after `at`, unless the text ends there.
fn end(text: &[u8], mut at: u32) -> u32 {
    let mut open = 0u32;
    while let Some(byte) = byte(text, at) {
        match byte {
            b'"' => at = after_string(text, at),
            b'{' | b'[' => (open, at) = (open + 1, at + 1),
            b'}' | b']' => (open, at) = (open.saturating_sub(1), at + 1),
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            _ => at = after_word(text, at),
        }
        if open == 0 {
            break;
        }
    }
    at
}

/// Returns the offset after a number or a literal.
fn after_word(text: &[u8], mut at: u32) -> u32 {
    while let Some(b'0'..=b'9' | b'a'..=b'z' | b'E' | b'+' | b'-' | b'.') = byte(text, at) {
        at += 1;
    }
    at
}

/// Returns the offset of the next element of an array, or key of an object, or `None` at its end. `at` is
/// after the opening bracket or after a value.
fn next_element(text: &[u8], at: u32) -> Option<u32> {
    let mut at = after_spaces(text, at);
    if let Some(b',') = byte(text, at) {
        at = after_spaces(text, at + 1);
    }
    match byte(text, at) {
        Some(b']' | b'}') | None => None,
        Some(_) => Some(at),
    }
}

/// A value of JSON in a schema, of which it is a place. A type of your own may store any value.
///
/// *Memory*: 12 bytes on a 32-bit target, `Copy`; borrows the text of the schema.
#[derive(Clone, Copy)]
pub struct Json<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: u32,
}

impl<'t> Json<'t> {
    /// Returns the value of a text that has been validated.
    pub(crate) fn whole(text: &'t str) -> Self {
        Self { text, at: after_spaces(text.as_bytes(), 0) }
    }

    /// Returns the offset of the value in the schema.
    pub fn at(self) -> u32 {
        self.at
    }

    /// Returns the text of the value.
    pub fn as_str(self) -> &'t str {
        self.text.get(self.at as usize..self.end() as usize).unwrap_or("")
    }

    pub(crate) fn end(self) -> u32 {
        end(self.text.as_bytes(), self.at)
    }

    pub(crate) fn first(self) -> u8 {
        byte(self.text.as_bytes(), self.at).unwrap_or(0)
    }

    /// Returns whether the value is `null`.
    pub fn is_null(self) -> bool {
        self.first() == b'n'
    }

    /// Returns a boolean. `None` for any other value.
    pub fn as_bool(self) -> Option<bool> {
        match self.first() {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        }
    }

    /// Returns the text of a number, for `str::parse`. `None` for any other value.
    pub fn as_number(self) -> Option<&'t str> {
        matches!(self.first(), b'-' | b'0'..=b'9').then(|| self.as_str())
    }

    /// Returns a string. `None` for any other value.
    pub fn as_string(self) -> Option<JsonStr<'t>> {
        (self.first() == b'"').then(|| JsonStr::opening_at(self.text.as_bytes(), self.at.into()))
    }

    /// Returns the elements of an array. None for any other value.
    pub fn items(self) -> Items<'t> {
        Items { text: self.text, at: self.inside(b'[') }
    }

    /// Returns the members of an object, in the file's order. None for any other value.
    pub fn members(self) -> Members<'t> {
        Members { text: self.text, at: self.inside(b'{') }
    }

    /// Returns a member of an object, the first of this name.
    pub fn member(self, name: &str) -> Option<Self> {
        self.members().find(|(key, _)| key.is(name)).map(|(_, value)| value)
    }

    /// Returns the offset after an opening bracket, or the end of the text if the value begins with another.
    pub(crate) fn inside(self, bracket: u8) -> u32 {
        if self.first() == bracket { self.at + 1 } else { u32::MAX }
    }
}

impl core::fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The elements of an array.
///
/// *Memory*: 12 bytes on a 32-bit target.
#[derive(Clone, Copy, Debug)]
pub struct Items<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: u32,
}

impl<'t> Iterator for Items<'t> {
    type Item = Json<'t>;

    fn next(&mut self) -> Option<Json<'t>> {
        let value = Json { text: self.text, at: next_element(self.text.as_bytes(), self.at)? };
        self.at = value.end();
        Some(value)
    }
}

/// The members of an object.
///
/// *Memory*: 12 bytes on a 32-bit target.
#[derive(Clone, Copy, Debug)]
pub struct Members<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: u32,
}

impl<'t> Iterator for Members<'t> {
    type Item = (JsonStr<'t>, Json<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.text.as_bytes();
        let key = Json { text: self.text, at: next_element(text, self.at)? };
        let name = key.as_string()?;
        // The colon has spaces on both sides.
        let colon = after_spaces(text, key.end());
        let value = Json { text: self.text, at: after_spaces(text, colon + 1) };
        self.at = value.end();
        Some((name, value))
    }
}
