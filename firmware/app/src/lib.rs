//! A network that reads handwritten digits. Its weights stay in the storage, a card or flash, and are read
//! row by row.
//!
//! A board provides the storage, a [`Sink`] for events, and an exit with [`Failure::exit_code`].
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
mod log;

mod demo;
mod digits;
mod failure;
mod forest;
mod integer;
#[cfg(feature = "minilm")]
pub mod minilm;
mod network;
mod quantised;
mod recording;
mod regression;
mod report;
mod storage;
#[cfg(feature = "structures")]
mod structure;
#[cfg(feature = "vectors")]
pub mod vectors;
#[cfg(feature = "wrong-models")]
mod wrong_models;

pub use demo::{ModelLocation, Observer, read_digits, read_digits_in_integers};
pub use digits::{COUNT, Digit, Image, PIXELS, digits};
pub use failure::{Difference, Failure, Form};
pub use forest::read_digits_with_forest;
pub use integer::{Dense, Integer};
pub use network::{CLASSES, Memory, Network, WIDTHS};
pub use quantised::multiply;
pub use recording::{Recording, origin};
pub use regression::{Counter, FEATURES, Regression, SAMPLES, features, predict};
#[cfg(feature = "log")]
pub use report::Defmt;
pub use report::{Event, FailureSink, Sink, Text};
pub use storage::{Counted, Reads};
#[cfg(feature = "structures")]
pub use structure::show_structure;
#[cfg(feature = "wrong-models")]
pub use wrong_models::reject_wrong_models;
