//! What the arguments of commands are made from.

pub mod glob;
pub mod kind;
pub mod names;
pub mod remote;
pub mod slice;

use crate::text::number::number;
use safetensors_files::shards::parse_shard_size;
use std::num::NonZero;
use std::str::FromStr;

/// Reads a whole number of an option, which has no sign.
///
/// # Errors
/// It is not a number, or out of range.
pub fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    let most = u64::MAX >> (64 - 8 * size_of::<N>());
    text.parse().map_err(|_| format!("a whole number from 0 to {most} needed, without a unit"))
}

/// Reads how many of something are wanted.
///
/// # Errors
/// It is not a number, or 0.
pub fn count(text: &str) -> Result<NonZero<usize>, String> {
    text.parse().map_err(|_| "a number above 0 needed".to_owned())
}

/// Reads a number of bytes above 0.
///
/// # Errors
/// It is not a size, or 0.
pub fn size(text: &str) -> Result<u64, String> {
    bytes(text).filter(|&bytes| bytes > 0).ok_or_else(|| {
        "a number above 0 needed, alone or with K or KiB = 1024, KB = 1000, and so on up to T".into()
    })
}

/// A number of bytes, hexadecimal with `0x`. As for GNU programs, K, M, G and T are powers of two, the same
/// as KiB and so on; KB, MB, GB and TB are powers of ten. With a unit it may have a fraction.
pub fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.starts_with("0x") {
        return number(text);
    }
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KIB" => 10,
        "M" | "MIB" => 20,
        "G" | "GIB" => 30,
        "T" | "TIB" => 40,
        _ => return parse_shard_size(text),
    };
    let digits = digits.trim_end();
    let Some((whole, part)) = digits.split_once('.').filter(|_| shift > 0) else {
        return number(digits)?.checked_mul(1 << shift);
    };
    let parts = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let is_decimal = !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
    let part = u128::from(part.parse::<u64>().ok().filter(|_| is_decimal)?) << shift;
    let part = u64::try_from(part / u128::from(parts)).ok()?;
    number(whole)?.checked_mul(1 << shift)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::{bytes, size};

    #[test]
    fn sizes_have_units() {
        for (text, expected) in [
            ("0", Some(0)),
            ("7b", Some(7)),
            ("0x1b", Some(27)),
            ("300K", Some(300 << 10)),
            (" 64 KiB ", Some(64 << 10)),
            ("64kb", Some(64_000)),
            ("2M", Some(2 << 20)),
            ("1.5MB", Some(1_500_000)),
            ("1T", Some(1 << 40)),
            ("K", None),
            ("1.5M", Some(3 << 19)),
            ("0.3 KiB", Some(307)),
            ("16777215.99999999T", Some(u64::MAX - 10_995)),
            ("1.5", None),
            ("1.M", None),
            (".5M", None),
            ("1.-5M", None),
            ("-1", None),
            ("99999999999999999999", None),
            ("18014398509481984M", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
        assert!(size("0").is_err() && size("1").is_ok());
    }
}
