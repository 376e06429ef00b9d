//! Why a name is not on the closed list.

use crate::error::unsound;
use crate::pickle::Opcode;
use crate::text::shown_text;
use std::io;

/// Reasons for names that PyTorch writes.
const REASONS: &[(&str, &[&str], &str)] = &[
    (
        "torch._utils",
        &["_rebuild_sparse_tensor", "_rebuild_sparse_csr_tensor"],
        "a sparse tensor, which safetensors does not have",
    ),
    ("torch._utils", &["_rebuild_qtensor"], "a quantised tensor, which safetensors does not have"),
    ("torch._utils", &["_rebuild_nested_tensor"], "a nested tensor, which safetensors does not have"),
    ("torch._utils", &["_rebuild_meta_tensor_no_storage"], "a tensor without data, on the device meta"),
    ("torch._utils", &["_rebuild_wrapper_subclass"], "a tensor without data, of a wrapper class"),
    (
        "torch",
        &["QInt8Storage", "QUInt8Storage", "QInt32Storage", "QUInt4x2Storage", "QUInt2x4Storage"],
        "a storage of quantised numbers, which safetensors does not have",
    ),
    (
        "torch",
        &["qint8", "quint8", "qint32", "quint4x2", "quint2x4"],
        "a quantised dtype, which safetensors does not have",
    ),
    (
        "torch",
        &["complex128", "cdouble", "ComplexDoubleStorage", "complex32", "chalf", "ComplexHalfStorage"],
        "a dtype that safetensors does not have; of complex numbers it has complex64",
    ),
];

/// Returns the error about a name that is not on the list.
pub(super) fn not_listed(code: Opcode, at: u64, module: &str, name: &str) -> io::Error {
    let reason = REASONS.iter().find(|(of, names, _)| *of == module && names.contains(&name));
    let reason = match reason {
        Some((_, _, reason)) => format!("which is {reason}"),
        None => "which is not on the closed list of what models need".into(),
    };
    let name: String = format!("{module}.{name}").chars().take(200).collect();
    let (code, name) = (code.name(), shown_text(&name));
    unsound(format!("opcode {code} at byte {at} of the pickle imports {name}, {reason}"))
}
