//! The store that burn loads modules from. It is a mapped file, and does not tell the metadata.

use crate::{Table, tensor, text};
use burn_store::{ModuleStore, SafetensorsStore};
use std::path::Path;

pub fn read(path: &Path) -> Result<Table, String> {
    let mut store = SafetensorsStore::from_file(path);
    let rows = store.get_all_tensors().map_err(text)?.values().map(|found| {
        let data = burn_store::bridge::to_data(found).map_err(text)?;
        let shape: Vec<usize> = data.shape().iter().copied().collect();
        Ok((found.name.clone(), tensor(found.dtype.name().to_uppercase(), &shape, data.as_bytes())))
    });
    Ok(Table(rows.collect::<Result<_, String>>()?, None))
}
