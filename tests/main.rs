//! All tests of the suite in one program, which is compiled and linked once. Tests of the source
//! are programs of their own.
//!
//! A new file needs its line here; `tests/house.rs` finds a missing one.

/// Makes two tests of each function that takes one of two halves of the vectors.
macro_rules! halves {
    ($($test:ident)+) => {
        $(mod $test {
            #[test]
            fn of_the_first_half() {
                super::$test(support::share::Half(0));
            }

            #[test]
            fn of_the_second_half() {
                super::$test(support::share::Half(1));
            }
        })+
    };
}

mod adapters;
mod apis;
mod asynch;
mod chunking;
mod conformance;
mod costs;
mod differential;
mod elements;
mod faults;
mod files;
mod incremental;
mod index;
mod integrity;
mod interop;
mod large;
mod layout;
mod lookups;
mod metadata;
mod oracle;
mod quant;
mod reading;
mod receiver;
mod recording;
mod shards;
mod shown;
mod sizes;
mod slicing;
mod streaming;
mod values;
mod vectors_lint;
mod view;
mod writing;
mod wrong_models;
