//! Names of shards, which an index says.

use super::error::ShardErrorKind;
use crate::name::fault;

/// Refuses what leads, on this system or another, to something else than a file in the folder of the index or below it.
///
/// # Errors
/// [`ShardErrorKind::UnsafeName`].
pub(super) fn check(name: &str) -> Result<(), ShardErrorKind> {
    match fault(name) {
        Some(reason) => Err(ShardErrorKind::UnsafeName { name: name.into(), reason }),
        None => Ok(()),
    }
}
