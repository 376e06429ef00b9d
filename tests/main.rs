//! The suite, as one program: it is compiled and linked once. What counts allocations is a program of its own, and so is what judges
//! the source.
//!
//! A new file needs its line here; a test of the house finds one that has none.

mod adapters;
mod apis;
mod asynch;
mod canonical;
mod chunking;
mod conformance;
mod costs;
mod differential;
mod elements;
mod faults;
mod files;
mod incremental;
mod index;
mod large;
mod layout;
mod lookups;
mod metadata;
mod oracle;
mod reading;
mod receiver;
mod recording;
mod shards;
mod slicing;
mod streaming;
mod values;
mod vectors_lint;
mod view;
mod writing;
