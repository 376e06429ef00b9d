//! Five releases of the reference.

use crate::{Table, tensor, text};
use serde_json::{Value, json};
use std::path::Path;

macro_rules! releases {
    ($($read:ident $release:ident)*) => {$(
        pub fn $read(path: &Path) -> Result<Table, String> {
            let bytes = std::fs::read(path).map_err(text)?;
            let file = $release::SafeTensors::deserialize(&bytes).map_err(|error| format!("{error:?}"))?;
            let header = $release::SafeTensors::read_metadata(&bytes);
            let (_, header) = header.map_err(|error| format!("{error:?}"))?;
            let offsets = header.tensors();
            let tensors = file.tensors().into_iter().map(|(name, view)| {
                let dtype = format!("{:?}", view.dtype());
                let mut row = tensor(dtype.trim_matches('"'), view.shape(), view.data());
                if let Some(info) = offsets.get(&name) {
                    row["data_offsets"] = json!([info.data_offsets.0, info.data_offsets.1]);
                }
                (name, row)
            });
            let metadata = header.metadata().as_ref().map_or(Value::Null, |pairs| json!(pairs));
            Ok(Table(tensors.collect(), Some(metadata)))
        }
    )*};
}

releases! {
    read_0_4_5 safetensors_0_4_5
    read_0_5_3 safetensors_0_5_3
    read_0_6_2 safetensors_0_6_2
    read_0_7_0 safetensors_0_7_0
    read_0_8_0 safetensors_0_8_0
}
