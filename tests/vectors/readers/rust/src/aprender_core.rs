//! A mapped file, whose tensors are F32, F16 or BF16. The data of all others cannot be read.

use crate::{Table, tensor, unless_empty};
use aprender::serialization::safetensors::MappedSafeTensors;
use serde_json::json;
use std::path::Path;

pub fn read(path: &Path) -> Result<Table, String> {
    let file = MappedSafeTensors::open(path)?;
    let rows = file.tensor_names().into_iter().map(|name| {
        let raw = file.get_tensor_raw(name)?;
        Ok((name.to_owned(), tensor(format!("{:?}", raw.dtype), &raw.shape, &raw.bytes)))
    });
    let pairs = file.user_metadata().iter().map(|(key, value)| (key.clone(), json!(value)));
    Ok(Table(rows.collect::<Result<_, String>>()?, unless_empty(pairs.collect())))
}
