//! The loader that recognises the format of a model. It tells metadata only by known keys.

use crate::{Table, tensor, text};
use kopitiam_loader::load_model;
use std::path::Path;

pub fn read(path: &Path) -> Result<Table, String> {
    let model = load_model(path).map_err(text)?;
    let rows = model.tensors().map(|entry| {
        let data = model.tensor_bytes(&entry.name).map_err(text)?;
        Ok((entry.name.clone(), tensor(entry.dtype.to_string().to_uppercase(), entry.shape.dims(), data)))
    });
    Ok(Table(rows.collect::<Result<_, String>>()?, None))
}
