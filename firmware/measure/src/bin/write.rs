//! Describes a file, sorts it and writes it.
#![no_std]
#![no_main]

use measure::{description, order, write_file};

measure::program!(|_| order(), |job| job.done = write_file(description(), job.file, job.memory));
