//! The operations of the blocking API.

#[path = "run.rs"]
mod run;

use embedded_io::{Error, Read};
use embedded_safetensors::{
    Model, ReadAt, TensorReader,
    reader::{SliceReader, Values},
};
use embedded_safetensors_macros::blocking as form;
use std::ops::FnMut as Call;

pub use run::Run;

/// A call that waits for nothing is never dropped.
fn attempt<T>(_: Option<usize>, outcome: T) -> Option<T> {
    Some(outcome)
}
