//! Use this when a training loop writes checkpoints: directories of files with the SHA-256 of each. After a
//! crash a directory is completely the old one or the new one.
//!
//! [`write_checkpoint`] writes a checkpoint, [`verify_checkpoint`] compares it with its list of checksums,
//! which has the format of `sha256sum`, and [`recover_checkpoint`] cleans up after an interrupted program.

// `write` writes the new directory and the list (`sums`) beside the old one, and then exchanges the two;
// `verify` reads the list.

pub(crate) mod error;
mod sums;
#[cfg(test)]
mod tests;
pub(crate) mod verify;
pub(crate) mod write;

pub use error::CheckpointErrorKind;
pub use verify::{Verified, verify_checkpoint};
pub use write::{Checkpoint, recover_checkpoint, write_checkpoint};
