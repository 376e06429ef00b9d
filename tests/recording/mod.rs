//! Files that are recorded in storage: what is there when it goes well, when a call fails, and when the power goes in the middle
//! of one.

mod cards;
mod chips;
mod errors;
mod power;
pub mod sample;
mod storages;
