//! What is known of chips: which they are, how their flash is divided, and where in it a model has room.
//!
//! `registry` asks probe-rs and gives a [`Chip`]; all else works on that and on numbers.
#![cfg_attr(test, allow(clippy::single_range_in_vec_init))] // a list of ranges may have one

pub mod alignment;
pub mod chip;
pub mod firmware;
pub mod formats;
pub mod image;
pub mod pages;
pub mod place;
pub mod probe;
pub mod registry;
pub mod sequence;
pub mod site;
pub mod size;
