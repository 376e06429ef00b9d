//! Finds the pickles of a file, and what they would import and call.

mod find;
mod print;
mod unpacked;

pub use find::scan_file;
pub use print::Judged;
