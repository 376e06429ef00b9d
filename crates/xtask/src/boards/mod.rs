//! The firmware: packages that stand alone, for cargo does not reach them from the workspace.

mod packages;

pub use packages::{PACKAGES, Package};
