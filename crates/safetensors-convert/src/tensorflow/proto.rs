//! Reads the wire format of protocol buffers, as far as a checkpoint's entries need it.

/// A reason why bytes are rejected, for a sentence that names their place.
pub type Reason = String;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'b> {
    /// A number of variable length.
    Varint(u64),
    /// A number of four bytes.
    Fixed32(u32),
    /// A text, bytes, or another message.
    Bytes(&'b [u8]),
    /// A number of eight bytes, which no known field is.
    Fixed64,
}

/// The fields of a message, in the order of its bytes.
#[derive(Clone)]
pub struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    /// Creates an iterator over the fields of a message.
    pub fn of(message: &'b [u8]) -> Self {
        Self(message)
    }

    fn field(&mut self) -> Result<(u64, Value<'b>), Reason> {
        let tag = varint(&mut self.0)?;
        let value = match tag & 7 {
            0 => Value::Varint(varint(&mut self.0)?),
            1 => {
                take(&mut self.0, 8)?;
                Value::Fixed64
            }
            2 => {
                let len = varint(&mut self.0)?;
                Value::Bytes(take(&mut self.0, len)?)
            }
            5 => {
                let bytes = take(&mut self.0, 4)?;
                Value::Fixed32(bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
            }
            kind => return Err(format!("a field has the unknown wire type {kind}")),
        };
        match tag >> 3 {
            0 => Err("a field has the number 0".into()),
            number => Ok((number, value)),
        }
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = Result<(u64, Value<'b>), Reason>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'b> Value<'b> {
    /// Returns an unsigned number.
    pub fn number(self, field: &str) -> Result<u64, Reason> {
        if let Self::Varint(number) = self { Ok(number) } else { Err(wrong_type(field)) }
    }

    /// Returns a signed number, which must not be negative.
    pub fn count(self, field: &str) -> Result<u64, Reason> {
        let is_positive = |number: &u64| i64::try_from(*number).is_ok();
        Some(self.number(field)?).filter(is_positive).ok_or_else(|| format!("the field {field} is negative"))
    }

    /// Returns a signed number of 32 bits, which must not be negative.
    pub fn small_count(self, field: &str) -> Result<u32, Reason> {
        let number = self.count(field)?;
        let small = i32::try_from(number).map(i32::unsigned_abs);
        small.map_err(|_| format!("the field {field} is {number}, more than 32 bits hold"))
    }

    /// Returns a number of four bytes.
    pub fn fixed32(self, field: &str) -> Result<u32, Reason> {
        if let Self::Fixed32(number) = self { Ok(number) } else { Err(wrong_type(field)) }
    }

    /// Returns the bytes of a message.
    pub fn message(self, field: &str) -> Result<&'b [u8], Reason> {
        if let Self::Bytes(bytes) = self { Ok(bytes) } else { Err(wrong_type(field)) }
    }
}

fn wrong_type(field: &str) -> Reason {
    format!("the field {field} has the wrong wire type")
}

/// Sets a field, which must not be a duplicate: readers could disagree about its value.
pub fn set<T>(place: &mut Option<T>, value: T, field: &str) -> Result<(), Reason> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("the field {field} is duplicate")),
    }
}

/// Takes a number of variable length, seven bits to a byte, from the start of `bytes`.
pub fn varint(bytes: &mut &[u8]) -> Result<u64, Reason> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or("a number is truncated")?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            break;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("a number has more than 64 bits".into())
}

/// Takes `len` bytes from the start of `bytes`.
pub fn take<'b>(bytes: &mut &'b [u8], len: u64) -> Result<&'b [u8], Reason> {
    let split = usize::try_from(len).ok().and_then(|len| bytes.split_at_checked(len));
    let (taken, rest) =
        split.ok_or_else(|| format!("{len} bytes needed, but only {} follow", bytes.len()))?;
    *bytes = rest;
    Ok(taken)
}
