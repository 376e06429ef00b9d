//! Opens a model, finds tensors and reads a slice of one, as `f32`.
#![no_std]
#![no_main]

use measure::{Network, open_find_read, read_slice};

measure::program!(Network::memory, |job| job.done = open_find_read(job, read_slice));
