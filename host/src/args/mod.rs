//! What the arguments of commands are made from.

pub mod glob;
pub mod slice;
