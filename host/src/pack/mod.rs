//! Makes models of tensors of others: selected, renamed, merged, reordered, and copied byte for byte.

pub mod checkpoint;
mod contents;
mod edits;
mod order;
mod pattern;
mod renames;
mod write;

pub use contents::{Contents, Prefer};
pub use edits::Edits;
pub use order::Ordering;
pub use renames::Renames;
pub use write::{Layout, Line, plan, write};
