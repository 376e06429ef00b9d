//! As `network`, but requests the dtypes and the shapes of the tensors.
#![no_std]
#![no_main]

use measure::{Network, open_find_read, stream};

measure::program!(Network::expecting, |job| job.done = open_find_read(job, stream));
