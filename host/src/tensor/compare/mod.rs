//! Compares two models tensor by tensor.

mod distance;
mod models;
mod pair;
mod print;
mod value;

pub use distance::Tolerance;
pub use models::{Policy, compare};
pub use print::{index_of, json, print};
pub use value::shown;
