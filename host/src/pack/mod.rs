//! Makes models of tensors of others: selected, renamed, merged, reordered, and copied byte for byte.

mod contents;
mod edits;
mod fresh;
mod order;
mod pattern;
mod renames;
mod write;

pub use contents::{Contents, Prefer};
pub use edits::Edits;
pub use fresh::{Fresh, planned_len};
pub use order::Ordering;
pub use renames::Renames;
pub use write::{Layout, Line, plan, write};
