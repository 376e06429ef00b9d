//! Checks the names of shards in an index.

use super::error::ShardErrorKind;
use crate::name::unsafe_reason;

/// Rejects a name that leads, on this system or another, to something other than a file in the directory of
/// the index or below it.
///
/// # Errors
/// [`ShardErrorKind::UnsafeName`].
pub(super) fn check(name: &str) -> Result<(), ShardErrorKind> {
    match unsafe_reason(name) {
        Some(reason) => Err(ShardErrorKind::UnsafeName { name: name.into(), reason }),
        None => Ok(()),
    }
}
