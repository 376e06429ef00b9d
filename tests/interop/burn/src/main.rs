//! Modules of burn, with its ndarray backend, through `burn_store::SafetensorsStore`.

// Parameters are named as dtypes.
#![allow(non_snake_case)]

#[path = "../../interop.rs"]
mod interop;

use std::collections::BTreeMap;
use std::path::Path;

// The derive macro of `Module` names it so.
use burn_core as burn;
use burn_core::module::{Module, Param, ParamId};
use burn_core::tensor::{Bool, BoolStore, DType, Device, Float, Int, Tensor, TensorData};
use burn_store::{ModuleSnapshot, SafetensorsStore};
use interop::{Array, Framework};

/// A module with a parameter for each array, which has a rank and a kind.
macro_rules! arrays {
    ($($name:ident: $rank:literal $kind:ident,)*) => {
        #[derive(Module, Debug)]
        struct Arrays {
            $($name: Option<Param<Tensor<$rank, $kind>>>,)*
        }

        impl Arrays {
            const NONE: Self = Self { $($name: None,)* };

            /// Returns a module with one parameter.
            fn one(name: &str, data: TensorData) -> Self {
                let (mut arrays, device, dtype) = (Self::NONE, Device::default(), data.dtype());
                match name {
                    $(stringify!($name) => {
                        let tensor = Tensor::from_data(data, (&device, dtype));
                        arrays.$name = Some(Param::initialized(ParamId::new(), tensor));
                    })*
                    _ => unreachable!(),
                }
                arrays
            }

            /// Adds the parameters of another one.
            fn add(&mut self, other: &Self) {
                $(self.$name = self.$name.clone().or(other.$name.clone());)*
            }

            /// Returns the data of the only parameter.
            fn data(&self) -> Option<TensorData> {
                None$(.or_else(|| self.$name.as_ref().map(|param| param.val().to_data())))*
            }
        }
    };
}

arrays! {
    BOOL: 2 Bool, U8: 2 Int, I8: 2 Int, I16: 2 Int, U16: 2 Int, I32: 2 Int, U32: 2 Int, I64: 2 Int,
    U64: 2 Int, F16: 2 Float, BF16: 2 Float, F32: 2 Float, F64: 2 Float, C64: 2 Float, F4: 2 Float,
    F6_E2M3: 2 Float, F6_E3M2: 2 Float, F8_E5M2: 2 Float, F8_E4M3: 2 Float, F8_E8M0: 2 Float,
    F8_E4M3FNUZ: 2 Float, F8_E5M2FNUZ: 2 Float, scalar: 1 Float, empty: 2 Float,
}

fn dtype(name: &str) -> Option<DType> {
    Some(match name {
        "BOOL" => DType::Bool(BoolStore::Native),
        "U8" => DType::U8,
        "I8" => DType::I8,
        "I16" => DType::I16,
        "U16" => DType::U16,
        "I32" => DType::I32,
        "U32" => DType::U32,
        "I64" => DType::I64,
        "U64" => DType::U64,
        "F16" => DType::F16,
        "BF16" => DType::BF16,
        "F32" => DType::F32,
        "F64" => DType::F64,
        _ => return None,
    })
}

/// Returns the name of the parameter for an array.
fn parameter(array: &Array) -> &str {
    match array.shape[..] {
        [] => "scalar",
        [0, _] => "empty",
        _ => &array.dtype,
    }
}

struct Burn;

impl Framework for Burn {
    type Tensor = Arrays;

    fn make(&self, array: &Array) -> Result<Arrays, String> {
        let dtype = dtype(&array.dtype).ok_or_else(|| format!("DType has no {}", array.dtype))?;
        let data = TensorData::try_from_bytes_vec(array.bytes.clone(), array.shape.clone(), dtype);
        Ok(Arrays::one(parameter(array), data.map_err(|error| format!("{error:?}"))?))
    }

    fn plain(&self, arrays: &Arrays) -> Result<Array, String> {
        let data = arrays.data().ok_or("no parameter")?;
        let shape = data.shape().iter().copied().collect();
        Ok(Array { dtype: data.dtype().name().to_owned(), shape, bytes: data.as_bytes().to_vec() })
    }

    fn save(&self, modules: &BTreeMap<String, Arrays>, path: &Path) -> Result<(), String> {
        let mut all = Arrays::NONE;
        modules.values().for_each(|module| all.add(module));
        let mut store = SafetensorsStore::from_file(path).overwrite(true);
        all.save_into(&mut store).map_err(|error| error.to_string())
    }

    fn load(&self, path: &Path, name: &str, like: &Array) -> Result<Arrays, String> {
        // A parameter of the same shape whose values are replaced.
        let shape = if like.shape.is_empty() { vec![1] } else { like.shape.clone() };
        let dtype = dtype(&like.dtype).unwrap_or(DType::F32);
        let bytes = vec![0; shape.iter().product::<usize>() * dtype.size()];
        let mut module = Arrays::one(name, TensorData::from_bytes_vec(bytes, shape, dtype));
        let mut store = SafetensorsStore::from_file(path).allow_partial(true);
        let result = module.load_from(&mut store).map_err(|error| error.to_string())?;
        match result.applied.iter().any(|applied| applied == name) {
            true => Ok(module),
            false => Err(result.errors.first().map_or_else(|| result.to_string(), ToString::to_string)),
        }
    }
}

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let packages = ["burn-core", "burn-store", "burn-ndarray"];
    interop::run(&Burn, folder, include_str!("../Cargo.lock"), &packages);
}
