//! A limit of what an archive unpacks to.

use super::Entry;
use crate::error::beyond_limit;
use std::io;

/// What a file unpacks to may be this many times as large, ...
const RATIO: u64 = 64;
/// ... or have this many bytes.
const ALWAYS: u64 = 1 << 30;

/// Returns the largest number of bytes that a file of `len` bytes may unpack to.
pub fn most_unpacked(len: u64) -> u64 {
    len.saturating_mul(RATIO).max(ALWAYS)
}

/// Rejects archives that unpack to far more than their length.
///
/// # Errors
/// [`io::ErrorKind::QuotaExceeded`] if the deflated entries of an archive of `len` bytes do.
pub fn check_ratio(entries: &[Entry], len: u64) -> io::Result<()> {
    let deflated = entries.iter().filter(|entry| entry.contents.is_deflated);
    let unpacked = deflated.fold(0_u64, |sum, entry| sum.saturating_add(entry.contents.unpacked));
    let most = most_unpacked(len);
    match unpacked > most {
        true => Err(beyond_limit(format!(
            "the archive of {len} bytes unpacks to {unpacked} bytes, at most {most} are allowed"
        ))),
        false => Ok(()),
    }
}
