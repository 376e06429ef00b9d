//! Messages of protocol buffers, made by hand.

/// A number of variable length.
pub fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push((number & 0x7f).to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
    bytes
}

/// A field with a number.
pub fn number(field: u64, number: u64) -> Vec<u8> {
    [varint(field << 3), varint(number)].concat()
}

/// A field with a message.
pub fn message(field: u64, message: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2)[..], &varint(message.len() as u64), message].concat()
}
