//! Models made of tensors of others: chosen, renamed, merged, laid out anew, and copied byte for byte.

mod contents;
mod edits;
mod fresh;
mod order;
mod write;

pub use contents::{Contents, Prefer};
pub use edits::Edits;
pub use fresh::Fresh;
pub use order::Ordering;
pub use write::{Layout, Line, plan, write};
