//! Reads the wire format of protocol buffers, from memory or from a file.

use std::iter::from_fn;

/// A reason why bytes are rejected, for a sentence that names their place.
pub type Reason = String;

/// The wire types: a number of variable length, eight bytes, other bytes with their length, four bytes.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
pub const BYTES: u64 = 2;
const FIXED32: u64 = 5;

/// Bytes that are taken from front to end.
pub trait Bytes: Clone {
    type Error;

    /// Returns the number of those that are left.
    fn left(&self) -> u64;

    /// Takes so many, which are left.
    fn split(&mut self, len: u64) -> Self;

    /// Takes one.
    fn next(&mut self) -> Result<Option<u8>, Self::Error>;

    /// Returns the error of bytes that are rejected.
    fn error(&self, reason: Reason) -> Self::Error;
}

impl Bytes for &[u8] {
    type Error = Reason;

    fn left(&self) -> u64 {
        self.len() as u64
    }

    fn split(&mut self, len: u64) -> Self {
        let split = usize::try_from(len).ok().and_then(|len| self.split_at_checked(len));
        let (taken, rest) = split.unwrap_or((*self, &[]));
        *self = rest;
        taken
    }

    fn next(&mut self) -> Result<Option<u8>, Reason> {
        Ok(self.split_off_first().copied())
    }

    fn error(&self, reason: Reason) -> Reason {
        reason
    }
}

/// The value of a field: its number, or its bytes if it is a text or another message.
#[derive(Clone, Copy, Default)]
pub struct Value<B> {
    pub wire: u64,
    pub number: u64,
    pub bytes: B,
}

/// The fields of a message, in the order of its bytes.
pub struct Fields<B>(pub B);

impl<B: Bytes> Fields<B> {
    fn field(&mut self) -> Result<(u64, Value<B>), B::Error> {
        let begin = self.0.clone();
        let tag = varint(&mut self.0)?;
        let mut value = Value { wire: tag & 7, number: 0, bytes: self.0.split(0) };
        match value.wire {
            VARINT => value.number = varint(&mut self.0)?,
            // No known field is one.
            FIXED64 => drop(take(&mut self.0, 8)?),
            BYTES => {
                let len = varint(&mut self.0)?;
                value.bytes = take(&mut self.0, len)?;
            }
            FIXED32 => {
                let mut bytes = take(&mut self.0, 4)?;
                for shift in (0..32).step_by(8) {
                    value.number |= u64::from(bytes.next()?.unwrap_or_default()) << shift;
                }
            }
            wire => return Err(begin.error(format!("a field has the unknown wire type {wire}"))),
        }
        match tag >> 3 {
            0 => Err(begin.error("a field has the number 0".into())),
            number => Ok((number, value)),
        }
    }
}

impl<B: Bytes> Iterator for Fields<B> {
    type Item = Result<(u64, Value<B>), B::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let field = (self.0.left() > 0).then(|| self.field())?;
        if field.is_err() {
            self.0.split(self.0.left());
        }
        Some(field)
    }
}

/// A field's number and name, and the check of its value.
pub type Known<B> = (u64, &'static str, fn(Value<B>, &str) -> Result<Value<B>, <B as Bytes>::Error>);

/// Returns the values of some fields of a message; all others are skipped. A field must not be a duplicate:
/// readers could disagree about its value.
pub fn known<B: Bytes, const N: usize>(
    message: B,
    fields: [Known<B>; N],
) -> Result<[Option<Value<B>>; N], B::Error> {
    let mut values = [const { None }; N];
    for field in Fields(message) {
        let (number, value) = field?;
        let mut known = values.iter_mut().zip(fields);
        if let Some((place, (_, name, check))) = known.find(|(_, (own, ..))| *own == number) {
            let bytes = value.bytes.clone();
            if place.replace(check(value, name)?).is_some() {
                return Err(bytes.error(format!("the field {name} is duplicate")));
            }
        }
    }
    Ok(values)
}

impl<B: Bytes> Value<B> {
    fn ensure(self, holds: bool, reason: impl FnOnce() -> Reason) -> Result<Self, B::Error> {
        if holds { Ok(self) } else { Err(self.bytes.error(reason())) }
    }

    fn check(self, wire: u64, field: &str) -> Result<Self, B::Error> {
        let is_right = self.wire == wire;
        self.ensure(is_right, || format!("the field {field} has the wrong wire type"))
    }

    /// Checks that it is an unsigned number.
    pub fn unsigned(self, field: &str) -> Result<Self, B::Error> {
        self.check(VARINT, field)
    }

    /// Checks that it is a signed number, which must not be negative.
    pub fn count(self, field: &str) -> Result<Self, B::Error> {
        let value = self.unsigned(field)?;
        let is_count = value.number.cast_signed() >= 0;
        value.ensure(is_count, || format!("the field {field} is negative"))
    }

    /// Checks that it is a signed number of 32 bits, which must not be negative.
    pub fn small_count(self, field: &str) -> Result<Self, B::Error> {
        let value = self.count(field)?;
        let number = value.number;
        let reason = || format!("the field {field} is {number}, more than 32 bits hold");
        value.ensure(number < 0x8000_0000, reason)
    }

    /// Checks that it is a number of four bytes.
    pub fn fixed32(self, field: &str) -> Result<Self, B::Error> {
        self.check(FIXED32, field)
    }

    /// Checks that it is bytes.
    pub fn message(self, field: &str) -> Result<Self, B::Error> {
        self.check(BYTES, field)
    }

    /// Returns its numbers: it is one, or has all in its bytes.
    pub fn numbers(self, field: &str) -> impl Iterator<Item = Result<u64, B::Error>> + use<B> {
        let mut bytes = self.bytes.clone();
        let mut alone = (self.wire != BYTES).then(|| self.unsigned(field).map(|value| value.number));
        from_fn(move || alone.take().or_else(|| (bytes.left() > 0).then(|| varint(&mut bytes))))
    }

    /// Returns a number that was checked to have 32 bits.
    pub fn small(&self) -> u32 {
        u32::try_from(self.number).unwrap_or(u32::MAX)
    }
}

/// Takes a number of variable length, seven bits to a byte.
pub fn varint<B: Bytes>(bytes: &mut B) -> Result<u64, B::Error> {
    let (begin, mut number) = (bytes.clone(), 0);
    for shift in (0..64).step_by(7) {
        let byte = bytes.next()?.ok_or_else(|| begin.error("a number is truncated".into()))?;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            break;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(begin.error("a number has more than 64 bits".into()))
}

/// Takes `len` bytes.
pub fn take<B: Bytes>(bytes: &mut B, len: u64) -> Result<B, B::Error> {
    let left = bytes.left();
    if len > left {
        return Err(bytes.error(format!("{len} bytes needed, but only {left} follow")));
    }
    Ok(bytes.split(len))
}
