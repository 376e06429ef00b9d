//! Layers of GPTQ and AWQ, rewritten as matrices of 4-bit integers in groups along the row.

mod layer;
mod packing;
mod rewrite;

pub use layer::{Layer, Part};
pub use packing::Packing;
