//! Folders that are there whole or not at all, with the sums of their files: what a training loop leaves behind.
//!
//! A folder is [written](write) beside its place, each file of it and the list of [sums] are on the medium, and then it takes its place in one act. It is [verified](verify) against its list, which
//! is that of `sha256sum`.

pub(crate) mod error;
mod sums;
#[cfg(test)]
mod tests;
pub(crate) mod verify;
pub(crate) mod write;
