//! Reads and writes sizes and ranges as people do.

use crate::args;
use crate::text::grouped;
use crate::text::number::{hex, number};
use std::ops::Range;

/// "4 KiB", but never "1.5 MiB": a multiple of the largest unit that divides it, otherwise bytes.
pub fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", grouped(bytes >> 10)),
        1 => "1 byte".to_owned(),
        _ => format!("{} bytes", grouped(bytes)),
    }
}

/// "0x000c0000..0x000ce370"
pub fn span(range: &Range<u64>) -> String {
    format!("{}..{}", hex(range.start), hex(range.end))
}

/// A size: bytes, or with a unit.
pub fn bytes(text: &str) -> Result<u64, String> {
    args::bytes(text).ok_or_else(|| "not a size; write it like 4096, 64K or 2M".to_owned())
}

/// A power of two.
pub fn alignment(text: &str) -> Result<u64, String> {
    match bytes(text) {
        Ok(align) if align.is_power_of_two() => Ok(align),
        _ => Err("not a power of two".to_owned()),
    }
}

/// Used flash.
#[derive(Clone)]
pub struct Used {
    /// None for the beginning of all flash.
    pub begin: Option<u64>,
    pub len: u64,
}

/// `64K` or `0x08000000..0x08010000`.
pub fn used(text: &str) -> Result<Used, String> {
    let Some((start, end)) = text.split_once("..") else {
        return bytes(text).map(|len| Used { begin: None, len });
    };
    match (number(start), number(end)) {
        (Some(start), Some(end)) if start < end => Ok(Used { begin: Some(start), len: end - start }),
        (Some(_), Some(_)) => Err("the range ends before it begins".to_owned()),
        _ => Err("not a range; write it like 0x08000000..0x08010000, or a size like 64K".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_the_largest_unit_that_divides_them() {
        let words = [0, 1, 1000, 1536, 262_144, 1 << 20, (1 << 20) + 1024].map(size);
        let expected = ["0 bytes", "1 byte", "1,000 bytes", "1,536 bytes", "256 KiB", "1 MiB", "1,025 KiB"];
        assert_eq!(words, expected);
    }
}
