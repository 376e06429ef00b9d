//! Files of the operating system, written and edited: what is in them, what takes whose place, and that nothing is ever half
//! there. What needs a power cut or a fault at a certain call is tested beside the code, on a model of a disk.
#![cfg(feature = "std")]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
mod changed;
mod checkpoints;
mod editing;
pub mod folder;
mod mapped;
mod models;
mod padding;
#[cfg(unix)]
mod places;
mod processes;
mod torn;
mod watched;
mod writing;
