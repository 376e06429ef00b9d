//! What this project's writer writes: the reference's bytes, the same for every order and every machine, through any
//! buffer and any sink, and nothing of what no reader could take.

#[cfg(feature = "oracle")]
mod differences;
mod doors;
mod dropped;
mod encoder;
mod faults;
mod identity;
mod order;
mod placement;
mod sentences;
mod sizes;
mod ways;
mod writer;
