//! Tensors of candle through `candle_core::safetensors`.

#[path = "../../interop.rs"]
mod interop;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use candle_core::{CpuStorage, DType, Device, Storage, Tensor, safetensors};
use interop::{Array, Framework};

struct Candle;

impl Framework for Candle {
    type Tensor = Tensor;

    fn make(&self, array: &Array) -> Result<Tensor, String> {
        let dtype: DType = array.dtype.to_lowercase().replace('_', "").parse().map_err(text)?;
        Tensor::from_raw_buffer(&array.bytes, dtype, &array.shape, &Device::Cpu).map_err(text)
    }

    fn plain(&self, tensor: &Tensor) -> Result<Array, String> {
        let (storage, _) = tensor.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else { return Err("not in memory".to_owned()) };
        macro_rules! bytes {
            ($values:expr) => {
                $values.iter().flat_map(|value| value.to_le_bytes()).collect()
            };
        }
        let bytes = match storage {
            CpuStorage::U32(values) => bytes!(values),
            CpuStorage::I16(values) => bytes!(values),
            CpuStorage::I32(values) => bytes!(values),
            CpuStorage::I64(values) => bytes!(values),
            CpuStorage::BF16(values) => bytes!(values),
            CpuStorage::F16(values) => bytes!(values),
            CpuStorage::F32(values) => bytes!(values),
            CpuStorage::F64(values) => bytes!(values),
            CpuStorage::F8E4M3(values) => values.iter().map(|value| value.to_bits()).collect(),
            CpuStorage::U8(bytes)
            | CpuStorage::F6E2M3(bytes)
            | CpuStorage::F6E3M2(bytes)
            | CpuStorage::F4(bytes)
            | CpuStorage::F8E8M0(bytes) => bytes.clone(),
        };
        Ok(Array { dtype: tensor.dtype().as_str().to_owned(), shape: tensor.dims().to_vec(), bytes })
    }

    fn save(&self, tensors: &BTreeMap<String, Tensor>, path: &Path) -> Result<(), String> {
        let tensors: HashMap<&str, Tensor> =
            tensors.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())).collect();
        safetensors::save(&tensors, path).map_err(text)
    }

    fn load(&self, path: &Path, name: &str, _: &Array) -> Result<Tensor, String> {
        let mut tensors = safetensors::load(path, &Device::Cpu).map_err(text)?;
        tensors.remove(name).ok_or_else(|| format!("no tensor {name}"))
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    interop::run(&Candle, folder, include_str!("../Cargo.lock"), &["candle-core", "safetensors"]);
}
