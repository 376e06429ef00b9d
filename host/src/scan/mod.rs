//! Finds the pickles of a file, and what they would import and call.

mod find;
mod seen;
mod unpacked;

pub use find::{Pickles, scan_file};
