//! Converts models and files of other formats, with or without a cast.

mod bits;
mod change;
mod done;
mod find;
mod foreign;
mod input;
mod manifest;
mod names;
mod output;
mod parts;
mod plan;
mod reports;

pub use bits::{FromBits, read_bits};
pub use change::Changer;
pub use done::Done;
pub use foreign::Reading;
pub use input::{Input, Opening, stem_of};
pub use manifest::{Made, Manifest, Sums};
pub use names::NameOf;
pub use output::{Output, write};
pub use plan::{Options, Plan, Scale};

/// A shape in JSON.
pub fn shape(dims: &[u64]) -> String {
    crate::json::array(dims.iter().map(u64::to_string))
}
