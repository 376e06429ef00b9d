//! Files of the operating system, written and edited: what is in them, what takes whose place, and that nothing is ever half
//! there. What needs a power cut or a fault at a certain call is tested beside the code, on a model of a disk.
#![cfg(feature = "std")]

mod changed;
mod checkpoints;
mod editing;
mod mapped;
mod models;
mod padding;
#[cfg(unix)]
mod paths;
mod processes;
mod progress;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod syscalls;
pub mod temp_dir;
mod torn;
mod writing;
