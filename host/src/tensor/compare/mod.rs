//! Compares two models tensor by tensor.

mod distance;
mod models;
mod pair;
mod print;

pub use distance::index_of;
pub use models::{Policy, compare};
pub use pair::bits_of_value;
