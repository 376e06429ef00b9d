//! Use this when your storage is asynchronous: the same reader, from the same text, over the models of
//! [`embedded_safetensors::asynch`]. A dropped future leaves it unchanged. A future takes at most 260 bytes
//! on a 32-bit target, besides those of the storage.
#![allow(clippy::duplicate_mod)]
#[path = "reader.rs"]
mod reader;

use embedded_safetensors::asynch::{Model, ReadAt, read_full, read_part};
use embedded_safetensors_macros::asynchronous as form;
pub use reader::QuantReader;
