//! Opens a model, finds tensors and reads a quantised matrix row by row, as `f32`.
#![no_std]
#![no_main]

use measure::{Network, open_find_matrix, read_quantised};

measure::program!(Network::memory, |job| job.done = open_find_matrix(job, read_quantised));
