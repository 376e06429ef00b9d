//! The files that this project's writer writes: the reference's bytes, the same for every order and every
//! target, through any buffer and any sink, and never a file that no reader accepts.

mod all_writers;
#[cfg(feature = "oracle")]
mod differences;
mod dropped;
mod encoder;
mod error_messages;
mod identity;
mod order;
mod placement;
mod sizes;
mod spec_errors;
mod vectors;
mod writer;
