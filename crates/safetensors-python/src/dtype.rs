//! The names that Python's frameworks give to dtypes.

use crate::error::Failure;
use embedded_safetensors::Dtype;

/// The dtypes that frameworks have, with their names there. All frameworks use the names of numpy and
/// ml_dtypes, with those of torch for what only torch has.
const NAMES: [(&str, Dtype); 20] = [
    ("float32", Dtype::F32),
    ("float16", Dtype::F16),
    ("bfloat16", Dtype::BF16),
    ("float64", Dtype::F64),
    ("int64", Dtype::I64),
    ("int32", Dtype::I32),
    ("int16", Dtype::I16),
    ("int8", Dtype::I8),
    ("uint64", Dtype::U64),
    ("uint32", Dtype::U32),
    ("uint16", Dtype::U16),
    ("uint8", Dtype::U8),
    ("bool", Dtype::BOOL),
    ("complex64", Dtype::C64),
    ("float8_e4m3fn", Dtype::F8_E4M3),
    ("float8_e4m3fnuz", Dtype::F8_E4M3FNUZ),
    ("float8_e5m2", Dtype::F8_E5M2),
    ("float8_e5m2fnuz", Dtype::F8_E5M2FNUZ),
    ("float8_e8m0fnu", Dtype::F8_E8M0),
    ("float4_e2m1fn_x2", Dtype::F4),
];

/// Returns the dtype of this name, of a framework or of the format.
pub fn parse(name: &str) -> Result<Dtype, Failure> {
    let known = NAMES.iter().find(|(known, _)| *known == name).map(|&(_, dtype)| dtype);
    known.or_else(|| Dtype::from_name(name.as_bytes())).ok_or_else(|| {
        let names: Vec<&str> = NAMES.iter().map(|&(name, _)| name).collect();
        Failure::say(format_args!("unknown dtype {name:?}; files can have {}", names.join(", ")))
    })
}
