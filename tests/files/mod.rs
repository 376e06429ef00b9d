//! Files of the operating system, written and edited: their content, what replaces what, and that no file is
//! ever incomplete. Power cuts and faults at certain calls are tested beside the code, on a model of a disk.
#![cfg(feature = "std")]

mod changed;
mod checkpoints;
mod editing;
pub mod mapped;
mod models;
mod padding;
#[cfg(unix)]
mod paths;
mod processes;
mod progress;
pub mod temp_dir;
mod torn;
mod writing;
