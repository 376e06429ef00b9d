//! Models in several files: indexes that are read and written, and their validation against the shards. Power
//! cuts are tested beside the code, on a model of a disk.
#![cfg(feature = "std")]

mod index;
mod limits;
mod models;
mod plans;
mod vectors;
