//! Compares formats on a vector of 10,000 `f32`: the size of a file, the times of writing and reading it,
//! and their ratios to the times of the raw bytes in the same place.
//!
//! Prints a JSON object for each way on its own line: where, whose, its name, how it gets its values, the
//! bytes of the file, the nanoseconds of writing and of reading. `cargo xtask measure formats` reads them.

mod bincodes;
mod cbor;
mod flat;
#[cfg(feature = "hdf5")]
mod hdf5;
mod json;
mod measure;
mod messagepack;
mod npy;
mod ours;
mod pickles;
mod postcards;
mod protobuf;
mod raw;
mod reference;
mod row;
mod shapes;
#[path = "../vector.rs"]
mod vector;
#[path = "../vector_by_reference.rs"]
mod vector_by_reference;

use row::{Kind, Row, Section};

type Rows = fn(&'static [f32]) -> Vec<Row>;

/// The floor is first.
const FORMATS: &[Rows] = &[
    raw::rows,
    ours::rows,
    reference::rows,
    npy::rows,
    flat::rows,
    protobuf::rows,
    messagepack::rows,
    cbor::rows,
    postcards::rows,
    bincodes::rows,
    pickles::rows,
    json::rows,
    #[cfg(feature = "hdf5")]
    hdf5::rows,
];

fn main() {
    let values: &[f32] = Vec::leak(vector::values());
    let rows = || FORMATS.iter().flat_map(|rows| rows(values));
    let through_memory = rows().filter(|row| row.kind != Kind::Floor).filter_map(Row::through_memory);
    let mut rows: Vec<Row> = rows().chain(through_memory).collect();
    for section in Section::ALL {
        measure::section(section, &mut rows, values);
    }
}
