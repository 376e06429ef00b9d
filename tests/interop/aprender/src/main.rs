//! Tensors of aprender through `aprender::serialization::safetensors`. They are F32 in memory; the dtype is
//! for the file.

#[path = "../../interop.rs"]
mod interop;

use std::collections::BTreeMap;
use std::path::Path;

use aprender::serialization::safetensors::{MappedSafeTensors, SafeTensorsDType, save_safetensors_typed};
use half::{bf16, f16};
use interop::{Array, Framework};

struct Aprender;

/// The values, and the dtype in the file.
#[derive(Clone)]
struct Tensor {
    dtype: SafeTensorsDType,
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl Framework for Aprender {
    type Tensor = Tensor;

    fn make(&self, array: &Array) -> Result<Tensor, String> {
        let pairs = || array.bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let (dtype, values) = match array.dtype.as_str() {
            "F32" => {
                let words = array.bytes.chunks(4).map(|word| [word[0], word[1], word[2], word[3]]);
                (SafeTensorsDType::F32, words.map(f32::from_le_bytes).collect())
            }
            "F16" => (SafeTensorsDType::F16, pairs().map(|bits| f16::from_bits(bits).to_f32()).collect()),
            "BF16" => (SafeTensorsDType::BF16, pairs().map(|bits| bf16::from_bits(bits).to_f32()).collect()),
            other => return Err(format!("SafeTensorsDType has no {other}")),
        };
        Ok(Tensor { dtype, shape: array.shape.clone(), values })
    }

    fn plain(&self, tensor: &Tensor) -> Result<Array, String> {
        let values = tensor.values.iter();
        let bytes = match tensor.dtype {
            SafeTensorsDType::F32 => values.flat_map(|value| value.to_le_bytes()).collect(),
            SafeTensorsDType::F16 => values.flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect(),
            SafeTensorsDType::BF16 => values.flat_map(|value| bf16::from_f32(*value).to_le_bytes()).collect(),
        };
        Ok(Array { dtype: format!("{:?}", tensor.dtype), shape: tensor.shape.clone(), bytes })
    }

    fn save(&self, tensors: &BTreeMap<String, Tensor>, path: &Path) -> Result<(), String> {
        let dtypes =
            tensors.iter().map(|(name, tensor)| (name.clone(), format!("{:?}", tensor.dtype))).collect();
        let tensors = tensors.iter();
        let tensors = tensors
            .map(|(name, tensor)| (name.clone(), (tensor.values.clone(), tensor.shape.clone())))
            .collect();
        save_safetensors_typed(path, &tensors, &dtypes)
    }

    fn load(&self, path: &Path, name: &str, _: &Array) -> Result<Tensor, String> {
        let file = MappedSafeTensors::open(path)?;
        let raw = file.get_tensor_raw(name)?;
        Ok(Tensor { dtype: raw.dtype, shape: raw.shape.clone(), values: raw.to_f32()? })
    }
}

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    interop::run(&Aprender, folder, include_str!("../Cargo.lock"), &["aprender-core"]);
}
