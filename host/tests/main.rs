//! The tests of the command in one program, linked once. What measures memory is a program of its own.
//!
//! A new file needs a line here; `tests/house.rs` finds files that have none.

mod bad_input;
mod cat;
mod check;
mod checkpoint;
mod completions;
mod convert;
mod decode;
mod delta;
mod diff;
mod emit;
mod emit_page;
mod every_command;
mod every_vector;
mod faults;
mod fit;
mod flash;
mod foreign;
mod format_table;
mod formats;
mod hash;
mod inputs;
mod inspect;
mod join;
mod lint;
mod made;
mod numpy;
mod pack;
mod pages;
mod quant;
mod remote;
mod repair;
mod report;
mod scan;
mod set;
mod shards;
mod signed;
mod slice;
mod split;
mod stats;
mod stdin;
mod structure;
mod support;
mod terminal;
mod views;
