//! Reads the wire format of protocol buffers, as far as a checkpoint's entries need it.

/// A reason why bytes are rejected, for a sentence that names their place.
pub type Reason = String;

/// The wire types: a number of variable length, eight bytes, other bytes with their length, four bytes.
pub const VARINT: u64 = 0;
const FIXED64: u64 = 1;
pub const BYTES: u64 = 2;
const FIXED32: u64 = 5;

/// The value of a field: its number, or its bytes if it is a text or another message.
#[derive(Clone, Copy, Default)]
pub struct Value<'b> {
    pub wire: u64,
    pub number: u64,
    pub bytes: &'b [u8],
}

/// The fields of a message, in the order of its bytes.
pub struct Fields<'b>(pub &'b [u8]);

impl<'b> Fields<'b> {
    fn field(&mut self) -> Result<(u64, Value<'b>), Reason> {
        let tag = varint(&mut self.0)?;
        let mut value = Value { wire: tag & 7, ..Value::default() };
        match value.wire {
            VARINT => value.number = varint(&mut self.0)?,
            // No known field is one.
            FIXED64 => drop(take(&mut self.0, 8)?),
            BYTES => {
                let len = varint(&mut self.0)?;
                value.bytes = take(&mut self.0, len)?;
            }
            FIXED32 => {
                let bytes = take(&mut self.0, 4)?;
                value.number = bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
            }
            wire => return Err(format!("a field has the unknown wire type {wire}")),
        }
        match tag >> 3 {
            0 => Err("a field has the number 0".into()),
            number => Ok((number, value)),
        }
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = Result<(u64, Value<'b>), Reason>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.0.is_empty()).then(|| self.field().inspect_err(|_| self.0 = &[]))
    }
}

/// A field's name, and the check of its value.
pub type Known<'b> = (&'static str, fn(Value<'b>, &str) -> Result<Value<'b>, Reason>);

/// Returns the values of a message's fields with the numbers from 1; all others are skipped. A field must not
/// be a duplicate: readers could disagree about its value.
pub fn known<'b, const N: usize>(
    message: &'b [u8],
    fields: [Known<'b>; N],
) -> Result<[Option<Value<'b>>; N], Reason> {
    let mut values = [None; N];
    for field in Fields(message) {
        let (number, value) = field?;
        let mut known = values.iter_mut().zip(fields).zip(1..);
        if let Some(((place, (name, check)), _)) = known.find(|(_, own)| *own == number)
            && place.replace(check(value, name)?).is_some()
        {
            return Err(format!("the field {name} is duplicate"));
        }
    }
    Ok(values)
}

impl Value<'_> {
    fn check(self, wire: u64, field: &str) -> Result<Self, Reason> {
        let is_right = self.wire == wire;
        is_right.then_some(self).ok_or_else(|| format!("the field {field} has the wrong wire type"))
    }

    /// Checks that it is an unsigned number.
    pub fn unsigned(self, field: &str) -> Result<Self, Reason> {
        self.check(VARINT, field)
    }

    /// Checks that it is a signed number, which must not be negative.
    pub fn count(self, field: &str) -> Result<Self, Reason> {
        match self.unsigned(field)?.number.cast_signed() {
            ..0 => Err(format!("the field {field} is negative")),
            0.. => Ok(self),
        }
    }

    /// Checks that it is a signed number of 32 bits, which must not be negative.
    pub fn small_count(self, field: &str) -> Result<Self, Reason> {
        match self.count(field)?.number {
            number @ 0x8000_0000.. => Err(format!("the field {field} is {number}, more than 32 bits hold")),
            _ => Ok(self),
        }
    }

    /// Checks that it is a number of four bytes.
    pub fn fixed32(self, field: &str) -> Result<Self, Reason> {
        self.check(FIXED32, field)
    }

    /// Checks that it is bytes.
    pub fn message(self, field: &str) -> Result<Self, Reason> {
        self.check(BYTES, field)
    }

    /// Returns a number that was checked to have 32 bits.
    pub fn small(self) -> u32 {
        u32::try_from(self.number).unwrap_or(u32::MAX)
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
