//! HDF5, with the binding of its C library, which works only with files.

use std::path::Path;

use hdf5_metno::{File, Result};

use crate::row::{Kind, Row, Section};

const NAME: &str = "features";

pub fn rows(values: &'static [f32]) -> Vec<Row> {
    let save = move |path: &Path| save(path, values).expect("enough space");
    let load = |path: &Path, values: &mut Vec<f32>| *values = load(path).expect("valid file");
    let words = ["HDF5 (hdf5-metno)", "read from their place, into new memory"];
    vec![Row::file(Section::File, Kind::Other, words, save, load)]
}

fn save(path: &Path, values: &[f32]) -> Result<()> {
    let file = File::create(path)?;
    file.new_dataset_builder().with_data(values).create(NAME)?;
    file.close()
}

fn load(path: &Path) -> Result<Vec<f32>> {
    File::open(path)?.dataset(NAME)?.read_raw()
}
