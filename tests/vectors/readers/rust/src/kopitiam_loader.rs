//! The loader that recognises the format of a model.

use crate::{Table, tensor, text, unless_empty};
use kopitiam_loader::{GgufValue, load_model};
use serde_json::json;
use std::path::Path;

pub fn read(path: &Path) -> Result<Table, String> {
    let model = load_model(path).map_err(text)?;
    let rows = model.tensors().map(|entry| {
        let data = model.tensor_bytes(&entry.name).map_err(text)?;
        Ok((entry.name.clone(), tensor(entry.dtype.to_string().to_uppercase(), entry.shape.dims(), data)))
    });
    let pairs = model.metadata().raw.0.iter().filter_map(|(key, value)| match value {
        GgufValue::String(value) => Some((key.clone(), json!(value))),
        _ => None,
    });
    Ok(Table(rows.collect::<Result<_, String>>()?, unless_empty(pairs.collect())))
}
