#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
extern crate std;

mod bytes;
mod check;
mod dtype;
mod duplicates;
mod error;
mod hash;
mod header;
mod info;
mod layout;
mod progress;
mod shape;
mod smallest;

pub use check::{HeaderCheck, Summary, check};
pub use dtype::Dtype;
pub use duplicates::{DuplicateCheck, check_duplicates};
pub use error::{Blame, Error, ErrorKind, Field, MAX_HEADER_LEN};
pub use header::entry::{Entries, Entry, Item};
pub use header::{Event, HeaderParser, Text};
pub use info::TensorInfo;
pub use progress::Progress;
pub use shape::{MAX_RANK, Shape};
pub use smallest::Slot;
