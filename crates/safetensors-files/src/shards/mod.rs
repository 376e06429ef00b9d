//! Use this when a model is divided among several files, with an index that lists the file of each tensor.
//! This is a convention of Hugging Face, not of the format.
//!
//! [`ShardedModel`] reads such a model; [`ShardPlan`] divides one.

// An index is untrusted, and names files: only safe names are accepted. It may be long: `scan`
// applies limits before parsing, `read` parses it as a stream, `counted` limits the number of values. `write`
// writes it as Python does. `compare` compares it with the shards.

mod compare;
mod counted;
pub(crate) mod error;
pub(crate) mod index;
pub(crate) mod limits;
pub(crate) mod model;
pub(crate) mod plan;
mod read;
mod scan;
pub(crate) mod size;
#[cfg(test)]
mod tests;
mod write;

pub use error::ShardErrorKind;
pub use index::ShardIndex;
pub use limits::ShardLimits;
pub use model::ShardedModel;
pub use plan::{PlannedShard, ShardPlan};
pub use size::parse_shard_size;
