//! Models in memory: lookups in the header and in a table, typed elements, and all of it at compile time.
//! `apis` reads every vector as a view.

mod build_errors;
mod embedded;
mod fixtures;
mod lookups;
mod typed;
