//! Models in storage that is awaited: the same verdicts and bytes as with the blocking API, and futures that
//! may be dropped wherever they wait.

mod dropped;
mod faults;
mod futures;
mod operations;
mod recording;
mod seekable;
mod slices;
mod vectors;
