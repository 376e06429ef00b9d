//! Models in memory: every vector as a view, lookups in the header and in a table, typed elements, and all of it
//! inside the compiler.

mod embedded;
mod keys;
mod lookups;
mod made;
mod refused;
mod typed;
mod vectors;
