//! The store that burn loads modules from. It is a mapped file, and does not tell the metadata. The data is
//! not read: for each tensor the store parses the header again.

use crate::{Table, text};
use burn_store::{ModuleStore, SafetensorsStore};
use serde_json::json;
use std::path::Path;

pub fn read(path: &Path) -> Result<Table, String> {
    let mut store = SafetensorsStore::from_file(path);
    let rows = store.get_all_tensors().map_err(text)?.values().map(|found| {
        let shape: Vec<usize> = found.shape.iter().copied().collect();
        (found.name.clone(), json!({ "dtype": found.dtype.name().to_uppercase(), "shape": shape }))
    });
    Ok(Table(rows.collect(), None))
}
