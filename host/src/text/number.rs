//! Reads and writes numbers as people do.

/// "0x000c0000"
#[cfg(any(test, feature = "chips"))]
pub fn hex(address: u64) -> String {
    format!("{address:#010x}")
}

/// Two digits for each byte: "c0ffee".
pub fn digits(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// An address: hexadecimal with `0x`, else decimal; underscores are allowed.
pub fn address(text: &str) -> Result<u64, String> {
    number(text).ok_or_else(|| "not an address; write it like 0x08060000".to_owned())
}

/// Hexadecimal with `0x`, else decimal.
pub fn number(text: &str) -> Option<u64> {
    let text = text.replace('_', "");
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
        None if !text.starts_with('+') => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{address, hex};

    #[test]
    fn addresses_are_read_as_they_are_written() {
        assert_eq!([hex(0xc0000), hex(0x1_0000_0000)], ["0x000c0000", "0x100000000"]);
        assert_eq!(address("0x0806_0000"), Ok(0x0806_0000));
        assert_eq!(address("4096"), Ok(4096));
        for wrong in ["", "0x", "-1", "0x+1", "+1", "12K", "0x1_0000_0000_0000_0000"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
