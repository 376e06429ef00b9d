//! What the arguments of commands are made from.

pub mod glob;
pub mod kind;
pub mod remote;
pub mod slice;

use safetensors_files::shards::parse_shard_size;
use std::num::NonZero;
use std::str::FromStr;

/// Reads a whole number of an option.
///
/// # Errors
/// It is not a number, or out of range.
pub fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "a whole number needed, within its limits".to_owned())
}

/// Reads how many of something are wanted.
///
/// # Errors
/// It is not a number, or 0.
pub fn count(text: &str) -> Result<NonZero<usize>, String> {
    text.parse().map_err(|_| "a number above 0 needed".to_owned())
}

/// Binary units are an extension; all others follow `huggingface_hub`.
pub fn size(text: &str) -> Result<u64, String> {
    let units = [("KIB", 10), ("MIB", 20), ("GIB", 30), ("TIB", 40)];
    let upper = text.trim().to_ascii_uppercase();
    let binary = units.iter().find_map(|(unit, log)| Some((upper.strip_suffix(unit)?.trim(), 1_u64 << log)));
    let bytes = match binary {
        Some((number, unit)) => number.parse().ok().and_then(|number: u64| number.checked_mul(unit)),
        None => parse_shard_size(text),
    };
    bytes
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| "a number above 0 needed, alone or with KB, MB, GB, TB, KiB, MiB, GiB or TiB".into())
}
