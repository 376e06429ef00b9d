//! Files that are recorded in storage: their content after success, after a failed call, and after a power
//! cut in the middle of one.

pub mod cards;
mod chips;
mod errors;
mod power;
mod receiving;
pub mod sample;
mod storages;
pub mod weakest;
