//! Models in several files, with the index that says which tensor is in which: a convention of Hugging Face, not of the format.
//!
//! [`ShardedModel`] reads such a model; [`ShardPlan`] divides one.

// An index comes from anywhere, and names files: `name` says which names are safe. It may be long: `scan` bounds it before a byte of it is
// understood, `read` understands it as it comes by, `counted` bounds what of it has no end, `write` spells it as Python does. What it says
// is compared with the shards by `prove`.

mod compare;
mod counted;
pub(crate) mod error;
pub(crate) mod index;
pub(crate) mod limits;
pub(crate) mod model;
mod name;
pub(crate) mod plan;
mod read;
mod scan;
pub(crate) mod size;
#[cfg(test)]
mod tests;
mod write;

pub use error::{ShardError, ShardErrorKind};
pub use index::ShardIndex;
pub use limits::{ShardLimit, ShardLimits};
pub use model::ShardedModel;
pub use plan::{PlannedShard, ShardPlan};
pub use size::parse_shard_size;
