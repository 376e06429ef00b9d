//! A mapped file, whose tensors are loaded. candle has fewer dtypes than the format: some become wider ones,
//! so that dtype and data are those of the file.

use crate::{Table, tensor, text};
use candle_core::{Device, safetensors::MmapedSafetensors};
use std::path::Path;

pub fn read(path: &Path) -> Result<Table, String> {
    // SAFETY: the files of the vectors do not change.
    let file = unsafe { MmapedSafetensors::new(path) }.map_err(text)?;
    let rows = file.tensors().into_iter().map(|(name, view)| {
        let loaded = file.load(&name, &Device::Cpu).map_err(text)?;
        let dtype = format!("{:?}", view.dtype());
        let row = tensor(dtype, loaded.dims(), view.data());
        Ok((name, row))
    });
    Ok(Table(rows.collect::<Result<_, String>>()?, None))
}
