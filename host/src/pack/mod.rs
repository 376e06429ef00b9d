//! Makes models of tensors of others: selected, renamed, merged, reordered, and copied byte for byte.

pub mod checkpoint;
mod contents;
mod dedupe;
mod edits;
pub mod order;
mod renames;
mod write;

pub use contents::{Contents, Entry, Prefer, open_all};
pub use dedupe::Tie;
pub use edits::Edits;
pub use renames::Renames;
pub use write::{Layout, Line, make, plan, write};
