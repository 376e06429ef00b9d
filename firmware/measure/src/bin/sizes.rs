//! Prints the sizes of the types that callers keep.
#![no_std]
#![no_main]

use embedded_safetensors::{
    header::{Entries, HeaderParser},
    query::Query,
    validate::{DuplicateFinder, SortSlot, Validator},
    write::{FilePlan, HeaderEncoder, Recording, Writer},
};
use measure::figure;

measure::program!(|_| (), |job| job.done = Some(0), |_| print_sizes());

fn print_sizes() {
    figure("parser", size_of::<HeaderParser>() as u32);
    figure("check", size_of::<Validator<'_>>() as u32);
    figure("duplicates", size_of::<DuplicateFinder<'_>>() as u32);
    figure("entries", size_of::<Entries<'_>>() as u32);
    figure("slot", size_of::<SortSlot>() as u32);
    figure("wanted", size_of::<Query<'_>>() as u32);
    figure("encoder", size_of::<HeaderEncoder<'_>>() as u32);
    figure("writer", size_of::<Writer<'_, ()>>() as u32);
    figure("recorder", size_of::<Writer<'_, Recording<'_, ()>>>() as u32);
    figure("plan", size_of::<FilePlan<'_>>() as u32);
}
