//! Models in several files: indexes that are read and written, and what is proven of them against their shards. What needs a power cut is tested
//! beside the code, on a model of a disk.
#![cfg(feature = "std")]

mod index;
mod limits;
mod models;
mod plans;
mod sizes;
