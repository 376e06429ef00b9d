//! Models in storage that is waited for: the same verdicts and bytes as everywhere else, and futures that may
//! be dropped wherever they wait.

mod dropped;
mod faults;
mod futures;
mod operations;
mod recording;
mod seekable;
mod slices;
mod vectors;
