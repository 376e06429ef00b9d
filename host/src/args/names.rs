//! Names of dtypes as people and frameworks write them.

use crate::text::did_you_mean;
use clap::builder::{PossibleValue, TypedValueParser};
use embedded_safetensors::Dtype;
use std::ffi::OsStr;

/// Other names than those of the format, in lowercase and without separators.
const NAMES: [(Dtype, &[&str]); 22] = [
    (Dtype::BOOL, &["boolean", "bool8"]),
    (Dtype::F4, &["fp4", "float4", "float4e2m1", "float4e2m1fn", "fp4e2m1", "e2m1", "mxfp4"]),
    (Dtype::F6_E2M3, &["float6e2m3", "float6e2m3fn", "fp6e2m3", "e2m3"]),
    (Dtype::F6_E3M2, &["float6e3m2", "float6e3m2fn", "fp6e3m2", "e3m2"]),
    (Dtype::U8, &["uint8", "ubyte"]),
    (Dtype::I8, &["int8"]),
    (Dtype::F8_E5M2, &["float8e5m2", "fp8e5m2", "e5m2"]),
    (Dtype::F8_E4M3, &["f8e4m3fn", "float8e4m3", "float8e4m3fn", "fp8e4m3", "fp8e4m3fn", "e4m3", "e4m3fn"]),
    (Dtype::F8_E8M0, &["f8e8m0fnu", "float8e8m0", "float8e8m0fnu", "fp8e8m0", "e8m0", "e8m0fnu"]),
    (Dtype::F8_E4M3FNUZ, &["float8e4m3fnuz", "fp8e4m3fnuz", "e4m3fnuz"]),
    (Dtype::F8_E5M2FNUZ, &["float8e5m2fnuz", "fp8e5m2fnuz", "e5m2fnuz"]),
    (Dtype::I16, &["int16", "short"]),
    (Dtype::U16, &["uint16", "ushort"]),
    (Dtype::F16, &["fp16", "float16", "half"]),
    (Dtype::BF16, &["bfloat16", "bfloat", "brainfloat16"]),
    (Dtype::I32, &["int32"]),
    (Dtype::U32, &["uint32"]),
    (Dtype::F32, &["fp32", "float32", "float", "single"]),
    (Dtype::C64, &["complex64", "cfloat"]),
    (Dtype::F64, &["fp64", "float64", "double"]),
    (Dtype::I64, &["int64", "long"]),
    (Dtype::U64, &["uint64", "ulong"]),
];

/// Names that mean several dtypes, or one in numpy and another one elsewhere.
const AMBIGUOUS: [(&str, &[Dtype]); 7] = [
    ("fp8", &[Dtype::F8_E4M3, Dtype::F8_E5M2]),
    ("float8", &[Dtype::F8_E4M3, Dtype::F8_E5M2]),
    ("f8", &[Dtype::F8_E4M3, Dtype::F8_E5M2, Dtype::F64]),
    ("byte", &[Dtype::U8, Dtype::I8]),
    ("char", &[Dtype::I8, Dtype::U8]),
    ("int", &[Dtype::I32, Dtype::I64]),
    ("uint", &[Dtype::U32, Dtype::U64]),
];

/// Reads the name of a dtype that an option takes, which shells complete.
#[derive(Clone, Copy)]
pub struct NameOf(pub fn(Dtype) -> bool);

impl TypedValueParser for NameOf {
    type Value = Dtype;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Dtype, clap::Error> {
        let Self(is_taken) = *self;
        let taken = move |name: &str| match dtype_named(name, is_taken)? {
            dtype if is_taken(dtype) => Ok(dtype),
            dtype => Err(format!("{dtype} cannot be chosen here; use one of {}", list_of(is_taken))),
        };
        taken.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let taken = Dtype::ALL.iter().filter(|dtype| (self.0)(**dtype));
        Some(Box::new(taken.map(|dtype| PossibleValue::new(dtype.name()))))
    }
}

/// The dtype of this name, in any case, with or without separators and the name of a module.
///
/// # Errors
/// It is ambiguous; the sentence lists the candidates. Or there is none; the sentence lists those that the
/// option takes, and suggests the most similar name.
pub fn dtype_named(name: &str, is_taken: impl Fn(Dtype) -> bool) -> Result<Dtype, String> {
    let plain = plain(name);
    if let Some(dtype) = Dtype::ALL.iter().find(|dtype| names_of(**dtype).any(|name| name == plain)) {
        return Ok(*dtype);
    }
    // In torch it is not ambiguous.
    if name.eq_ignore_ascii_case("torch.int") {
        return Ok(Dtype::I32);
    }
    if let Some((_, meant)) = AMBIGUOUS.iter().find(|(name, _)| *name == plain) {
        return Err(format!("ambiguous dtype; use {}", list(meant, " or ")));
    }
    let taken = Dtype::ALL.iter().filter(|dtype| is_taken(**dtype));
    let near = taken.flat_map(|dtype| names_of(*dtype)).collect::<Vec<_>>();
    let hint = did_you_mean(&plain, near.iter().map(String::as_str));
    Err(format!("unknown dtype; use one of {}{hint}", list_of(is_taken)))
}

/// The names of all that an option takes.
fn list_of(is_taken: impl Fn(Dtype) -> bool) -> String {
    let taken: Vec<Dtype> = Dtype::ALL.iter().copied().filter(|dtype| is_taken(*dtype)).collect();
    list(&taken, ", ")
}

/// All names of a dtype, in lowercase and without separators.
fn names_of(dtype: Dtype) -> impl Iterator<Item = String> {
    let others = NAMES.iter().filter(move |(of, _)| *of == dtype).flat_map(|(_, names)| *names);
    std::iter::once(plain(dtype.name())).chain(others.map(|name| (*name).to_owned()))
}

/// In lowercase, without separators and without what precedes a point, as in `torch.float16`.
fn plain(name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.chars().filter(|letter| !matches!(letter, '_' | '-' | ' ')).collect::<String>().to_ascii_lowercase()
}

fn list(dtypes: &[Dtype], separator: &str) -> String {
    dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::{AMBIGUOUS, NAMES, dtype_named, names_of};
    use embedded_safetensors::Dtype;

    #[test]
    fn every_name_means_one_dtype_in_any_spelling() {
        assert!(Dtype::ALL.iter().all(|dtype| NAMES.iter().filter(|(of, _)| of == dtype).count() == 1));
        for (dtype, name) in
            Dtype::ALL.iter().flat_map(|dtype| names_of(*dtype).map(move |name| (dtype, name)))
        {
            assert!(AMBIGUOUS.iter().all(|(other, _)| *other != name), "{name}");
            let spelled = format!("np.{}", name.to_uppercase().replace("E4", "_E4"));
            assert_eq!(dtype_named(&spelled, |_| true), Ok(*dtype), "{spelled}");
        }
        assert_eq!(dtype_named("torch.int", |_| true), Ok(Dtype::I32));
    }
}
