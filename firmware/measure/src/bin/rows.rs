//! Opens a model, finds tensors and reads one of them row by row, as `f32`.
#![no_std]
#![no_main]

use measure::{Network, open_find_read, read_rows};

measure::program!(Network::memory, |job| job.done = open_find_read(job, read_rows));
