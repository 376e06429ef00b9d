//! Converts models and arrays, with or without a cast.

mod arrays;
mod bits;
mod change;
mod input;
mod kind;
mod losses;
mod names;
mod output;
mod plan;

pub use bits::{FromBits, read_bits};
pub use change::Changer;
pub use input::Input;
pub use kind::Kind;
pub use losses::Losses;
pub use names::NameOf;
pub use output::{Output, write};
pub use plan::{Change, Options, Plan, Planned, Reason, Scale};
