//! A network that reads handwritten digits. Its weights stay where they are, on a card or in flash, and come by row by row.
//!
//! What a board adds is the storage, a [`Sink`] for what is reported, and an end: [`Failure::exit_code`].
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
mod log;

mod demo;
mod digits;
mod failure;
mod integer;
mod network;
mod recording;
mod report;
mod storage;
#[cfg(feature = "vectors")]
pub mod vectors;

pub use demo::{Observer, Place, read_digits, read_digits_in_integers};
pub use digits::{COUNT, Digit, Image, PIXELS, digits};
pub use failure::{Difference, Failure, Form};
pub use integer::{Dense, Integer};
pub use network::{CLASSES, Memory, Network, WIDTHS};
pub use recording::{Recording, origin};
#[cfg(feature = "defmt")]
pub use report::Defmt;
pub use report::{Event, Hears, Sink, Text};
pub use storage::{Counted, Reads};
