//! Chips: their names, their flash pages, and free space for a model.
//!
//! `registry` reads probe-rs and returns a [`Chip`]; everything else works on that and on numbers.
#![cfg_attr(test, allow(clippy::single_range_in_vec_init))] // lists of one range

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
