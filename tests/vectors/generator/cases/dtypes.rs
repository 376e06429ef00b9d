//! One case of each kind for each dtype.

use crate::case::{Body, Case, bad, json, leak, ok};
use embedded_safetensors::Dtype;

/// Returns a case for each dtype but those whose case is elsewhere, from its name, its name as ids have it,
/// and its bits, which are the bytes of eight elements.
fn each(elsewhere: &[&str], kind: impl Fn(&str, &str, u64) -> Case) -> Vec<Case> {
    let dtypes = Dtype::ALL.iter().filter(|dtype| !elsewhere.contains(&dtype.name()));
    let case = |dtype: &Dtype| {
        let case = kind(dtype.name(), &dtype.name().to_lowercase().replace('_', "-"), dtype.bits().into());
        let flags = [case.flags, if dtype.bits() < 8 { &["sub-byte"] } else { &[] }].concat();
        case.flags(flags.leak())
    };
    dtypes.map(case).collect()
}

fn file(dtype: &str, shape: &str, begin: &str, end: u64) -> Body {
    let entry = format!(r#""dtype":"{dtype}","shape":[{shape}],"data_offsets":[{begin},{end}]"#);
    json(leak(format!(r#"{{"a":{{{entry}}}}}"#))).data(end)
}

/// Returns a tensor of eight elements of each dtype.
pub fn eight() -> Vec<Case> {
    each(&[], |dtype, id, bits| {
        let more = if dtype == "C64" { ", not two times 64" } else { "" };
        let reason = leak(format!("{dtype} has {bits} bits{more}."));
        ok(leak(format!("dtype-{id}")), "dtype-1", file(dtype, "8", "0", bits), reason)
    })
}

/// Returns tensors with the bytes of eight elements that have fewer, which fill bytes too.
pub fn too_long() -> Vec<Case> {
    each(&[], |dtype, id, bytes| {
        let (count, word) = match bytes {
            4 => ("6", "Six"),
            6 => ("4", "Four"),
            _ => ("7", "Seven"),
        };
        let reason = leak(format!("{word} elements of {dtype} with the bytes of eight."));
        let id = leak(format!("size-{id}-{}", word.to_lowercase()));
        bad(id, "tensor-3", "tensor.size", file(dtype, count, "¦0", bytes), reason)
    })
}

/// Returns a scalar of each dtype of whole bytes.
pub fn scalars() -> Vec<Case> {
    each(&["F4", "F6_E2M3", "F6_E3M2", "U8", "F64"], |dtype, id, bits| {
        let reason = leak(format!("A scalar of {dtype}."));
        ok(leak(format!("shape-scalar-{id}")), "shape-1", file(dtype, "", "0", bits / 8), reason)
    })
}

/// Returns a tensor without elements of each dtype.
pub fn empty() -> Vec<Case> {
    each(&["F4", "U8", "U16", "F32"], |dtype, id, _| {
        let reason = leak(format!("A tensor of {dtype} without elements."));
        let case = ok(leak(format!("empty-{id}")), "shape-6", file(dtype, "0", "0", 0), reason);
        case.flags(&["empty-tensor"])
    })
}
