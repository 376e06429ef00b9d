//! Opens a model, and prints the code and the byte of an error.
#![no_std]
#![no_main]

use measure::open_or;

measure::program!(|_| (), |job| job.done = open_or(job, |console, error| {
    console.print(error.kind.code().as_bytes());
    console.print_number(error.at);
}));
