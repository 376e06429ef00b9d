//! Opens a model, finds tensors and multiplies the rows of a quantised matrix by a vector of integers.
#![no_std]
#![no_main]

use measure::{Network, multiply_quantised, open_find_matrix};

measure::program!(Network::memory, |job| job.done = open_find_matrix(job, multiply_quantised));
