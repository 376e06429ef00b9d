//! A mapped file.

use crate::{Table, tensor, text};
use kime_model::safetensors::load;
use kime_tensor::Blob;
use serde_json::Value;
use std::path::Path;

pub fn read(path: &Path) -> Result<Table, String> {
    let (tensors, metadata) = load(Blob::map(path).map_err(text)?).map_err(text)?;
    let views = (0..tensors.entries().len()).map(|index| tensors.view(index));
    let rows = views.map(|view| (view.name.to_owned(), tensor(view.dtype.name(), view.shape, view.bytes)));
    Ok(Table(rows.collect(), Some(metadata.map_or(Value::Null, Value::Object))))
}
