//! Converts models and files of other formats, with or without a cast.

mod bits;
mod change;
mod done;
mod find;
mod input;
mod manifest;
mod output;
mod plan;
mod source;

use crate::args::names;
pub use bits::read_bits;
pub use change::{Changer, ZEROED};
pub use input::{Input, Reading};
pub use manifest::{Made, write_manifest};
pub use plan::{Casts, Plan};
pub use source::{foreign_error, open_model, stem_of};
