//! Opens a model, finds the tensors of a network and streams one of them.
#![no_std]
#![no_main]

use measure::{Network, figure, open_find_read, stream};

measure::program!(Network::memory, |job| job.done = open_find_read(job, stream), |job| report(&job.memory));

/// Prints the number of reads and of bytes.
fn report(network: &Network) {
    figure("calls", network.card.calls);
    figure("bytes", network.card.bytes);
}
