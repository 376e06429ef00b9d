//! The conformance vectors, what a reader says about them, and whether it is right: the same judgement as that of
//! `tests/vectors/run.py`.

mod answer;
mod ask;
mod child;
mod glob;
mod page;
mod scoring;
mod store;
mod summary;

pub use ask::{Asking, Break, ask_all};
pub use glob::matches;
pub use page::page;
pub use scoring::Score;
pub use store::Store;
pub use summary::{json, summary};

/// Why a reader could not be asked, in a sentence.
#[derive(Debug)]
pub enum Unusable {
    /// The manifest, or a file that it lists, is not what it should be.
    Vectors(String),
    /// The reader cannot be run.
    Reader(String),
}
