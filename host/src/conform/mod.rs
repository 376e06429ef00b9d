//! The conformance vectors in this program, a reader that is asked about them, and the score in words. What an answer means and
//! whether it is right is decided by the crate `vectors`.

mod ask;
mod child;
mod glob;
mod page;
mod store;
mod summary;

pub use ask::{Asking, Break, ask_all};
pub use glob::matches;
pub use page::page;
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
