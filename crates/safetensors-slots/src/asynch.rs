//! The same slots over asynchronous drivers.
//!
//! # Cancel safety
//! A dropped future is like a power cut: call `start` again.

// These are the same files as in the blocking form, for which a macro removes `async` and `.await`.
#![allow(clippy::duplicate_mod)]

#[path = "journal.rs"]
mod journal;
#[path = "receiving.rs"]
mod receiving;
#[path = "slots.rs"]
mod slots;

use embedded_safetensors::asynch::{Model, NorFile, ReadAt};
use embedded_safetensors_macros::asynchronous as form;
use embedded_storage_async::nor_flash::NorFlash;

pub use slots::Slots;
