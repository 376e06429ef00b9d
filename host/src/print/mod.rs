//! Shows models, and what is wrong with them.

pub mod diagnostic;
pub mod excerpt;
pub mod facts;
pub mod listing;
pub mod nested;
pub mod parameters;
pub mod picture;
pub mod structure;
pub mod tree;
pub mod verdict;
