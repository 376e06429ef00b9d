//! The tests of the command, as one program: it is linked once. What measures memory is a program of its own.
//!
//! A new file needs its line here; a test of the house (`tests/house.rs`) finds one that has none.

mod bad_input;
mod cat;
mod check;
mod checkpoint;
mod completions;
mod conform;
mod convert;
mod decode;
mod diff;
mod emit;
mod emit_page;
mod every_command;
mod faults;
mod fit;
mod flash;
mod hash;
mod inspect;
mod join;
mod numpy;
mod pack;
mod pages;
mod shards;
mod slice;
mod split;
mod stdin;
mod support;
mod terminal;
