//! Models in memory: lookups in the header and in a table, typed elements, and all of it at compile time.
//! `apis` reads every vector as a view.

mod build_errors;
// Elements in place are those of little-endian targets.
#[cfg(target_endian = "little")]
mod embedded;
mod fixtures;
mod lookups;
#[cfg(target_endian = "little")]
mod typed;
