//! Checkpoints: folders of models with the checksums of all their files, as a training loop writes them. After a crash the folder is the old
//! one or the new one, whole.
//!
//! [`write_checkpoint`] writes one, [`verify_checkpoint`] compares it with its checksums (the list is that of `sha256sum`), and
//! [`recover_checkpoint`] finishes what an interrupted program has left.

// `write` writes the folder and the list (`sums`) beside its place, and then exchanges the two; `verify` reads the list.

pub(crate) mod error;
mod sums;
#[cfg(test)]
mod tests;
pub(crate) mod verify;
pub(crate) mod write;

pub use error::{CheckpointError, CheckpointErrorKind};
pub use verify::{Verified, verify_checkpoint};
pub use write::{Checkpoint, recover_checkpoint, write_checkpoint};
