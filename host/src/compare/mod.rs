//! Two models, tensor by tensor: what is only in one of them, and how far apart their values are.

mod distance;
mod models;
mod pair;
mod print;
mod value;

pub use distance::Tolerance;
pub use models::{Policy, compare};
pub use print::{json, print};
