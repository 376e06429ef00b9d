//! Models in several files, and the index that says which tensor is in which: a convention of Hugging Face, not of the format.
//!
//! An index comes from anywhere, and names files: [`name`] says which names are safe. It may be long: [`scan`] bounds it before a byte of it is
//! understood, [`read`] understands it as it comes by, [`counted`] bounds what of it has no end, [`write`] spells it as Python does. What it says is [proven](model) against the shards.

mod counted;
pub(crate) mod error;
pub(crate) mod index;
pub(crate) mod limits;
pub(crate) mod model;
mod name;
pub(crate) mod plan;
mod prove;
mod read;
mod scan;
pub(crate) mod size;
#[cfg(test)]
mod tests;
mod write;
