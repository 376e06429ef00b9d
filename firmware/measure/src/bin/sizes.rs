//! Prints the sizes of the types that callers keep.
#![no_std]
#![no_main]

use embedded_safetensors::{
    header::{Entries, HeaderParser},
    integrity::{Crc32, Sha256, Verifier},
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
    figure("crc32", size_of::<Crc32>() as u32);
    figure("sha256", size_of::<Sha256>() as u32);
    figure("verifier", size_of::<Verifier<Sha256>>() as u32);
    figure("plan", size_of::<FilePlan<'_>>() as u32);
}
