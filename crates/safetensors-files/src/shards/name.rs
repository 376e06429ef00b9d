//! Names of shards, which an index says.

use super::error::ShardFault;
use crate::name::fault;

/// Refuses what leads, on this system or another, to something else than a file in the folder of the index or below it.
///
/// # Errors
/// [`ShardFault::UnsafeName`].
pub(super) fn check(name: &str) -> Result<(), ShardFault> {
    match fault(name) {
        Some(reason) => Err(ShardFault::UnsafeName { name: name.into(), reason }),
        None => Ok(()),
    }
}
