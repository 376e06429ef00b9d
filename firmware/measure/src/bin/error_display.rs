//! Opens a model, and prints an error with `{}`.
#![no_std]
#![no_main]

use core::fmt::Write;
use measure::open_or;

measure::program!(|_| (), |job| job.done = open_or(job, |console, error| {
    let _ = write!(console, "{error}");
}));
