//! The files that this project's writer writes: the reference's bytes, the same for every order and every
//! target, through any buffer and any sink, and never a file that no reader accepts.

#[cfg(feature = "oracle")]
mod differences;
mod dropped;
mod encoder;
mod identity;
mod order;
mod placement;
mod spec_errors;
mod vectors;
mod writer;
