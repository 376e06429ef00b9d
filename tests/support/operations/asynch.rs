//! The operations of the asynchronous API.

// This is the same file as in the blocking form.
#![allow(clippy::duplicate_mod)]

#[path = "run.rs"]
mod run;

use crate::executor::dropped_at as attempt;
use embedded_io_async::{Error, Read};
use embedded_safetensors::asynch::{Model, ReadAt, SliceReader, TensorReader, Values};
use embedded_safetensors_macros::asynchronous as form;
use std::ops::AsyncFnMut as Call;

pub use run::Run;
