//! The way out: files, directories and standard output.

pub mod directory;
pub mod file;
pub mod model;
pub mod overwrite;
pub mod stale;
pub mod stdout;
pub mod writer;
