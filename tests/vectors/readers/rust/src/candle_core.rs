//! A file in memory, whose tensors are loaded. candle has fewer dtypes than the format: some become wider
//! ones, so that dtype and data are those of the file.

use crate::{Table, tensor, text};
use candle_core::{Device, safetensors::BufferedSafetensors};
use std::path::Path;

pub fn read(path: &Path) -> Result<Table, String> {
    let file = BufferedSafetensors::new(std::fs::read(path).map_err(text)?).map_err(text)?;
    let rows = file.tensors().into_iter().map(|(name, view)| {
        let loaded = file.load(&name, &Device::Cpu).map_err(text)?;
        let dtype = format!("{:?}", view.dtype());
        let row = tensor(dtype, loaded.dims(), view.data());
        Ok((name, row))
    });
    Ok(Table(rows.collect::<Result<_, String>>()?, None))
}
