//! Models in memory: every vector as a view, lookups in the header and in a table, typed elements, and all of
//! it at compile time.

mod build_errors;
mod embedded;
mod fixtures;
mod keys;
mod lookups;
mod typed;
