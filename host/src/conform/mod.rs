//! The built-in conformance vectors, the reader under test, and its score. The crate `vectors` interprets
//! and scores the answers.

mod ask;
mod batch;
mod child;
mod choice;
mod page;
mod store;
mod summary;

pub use ask::{Break, Job, run_all};
pub use choice::{Choice, with_control};
pub use page::page;
pub use store::Store;
pub use summary::{Asked, json, summary};

/// The reason why a reader could not be tested, as a sentence.
#[derive(Debug)]
pub enum Unusable {
    /// The manifest or a listed file is damaged.
    Vectors(String),
    /// The reader cannot be run.
    Reader(String),
}
