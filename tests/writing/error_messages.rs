//! The error messages of writers and recorders.

use embedded_safetensors::{Dtype, ErrorKind, error::Class};

const MISTAKES: [(ErrorKind, &str, &str); 15] = [
    (
        ErrorKind::TooManyBytes { tensor: 2, given: 9, left: 8 },
        "usage.bytes",
        "tensor 2, counted from 0, needs 8 bytes more, but was given 9",
    ),
    (
        ErrorKind::TooManyBytes { tensor: 0, given: 2, left: 1 },
        "usage.bytes",
        "tensor 0, counted from 0, needs 1 byte more, but was given 2",
    ),
    (
        ErrorKind::TensorLength { tensor: 2, given: 4, needed: 8 },
        "usage.length",
        "tensor 2, counted from 0, needs 8 bytes, but was given 4",
    ),
    (
        ErrorKind::ValueType { tensor: 2, given: Dtype::U32, needed: Dtype::F32 },
        "usage.values",
        "tensor 2, counted from 0, has dtype F32, but was given U32",
    ),
    (
        ErrorKind::WrongTensor { tensor: 2 },
        "usage.due",
        "tensors must be written in order: tensor 2, counted from 0, is next",
    ),
    (ErrorKind::AllWritten, "usage.complete", "all tensors are complete already"),
    (
        ErrorKind::Incomplete { tensor: 2, missing: 8 },
        "usage.incomplete",
        "8 bytes are missing: tensor 2, counted from 0, is the first that lacks some",
    ),
    (
        ErrorKind::Incomplete { tensor: 2, missing: 1 },
        "usage.incomplete",
        "1 byte is missing, from tensor 2, counted from 0",
    ),
    (
        ErrorKind::Unit { unit: 16 },
        "usage.unit",
        "the data begins inside a write unit of 16 bytes: align it with Placement::Start",
    ),
    (
        ErrorKind::Longer { len: 200, file_len: 120 },
        "usage.longer",
        "the storage holds 200 bytes, but the file has 120: truncate the storage first",
    ),
    (
        ErrorKind::Partition { start: 100, sector: 4096 },
        "usage.partition",
        "the partition begins at address 100, which is not a multiple of the flash's sector size, 4096 bytes",
    ),
    (
        ErrorKind::Capacity { needed: 120, capacity: 100 },
        "limit.capacity",
        "storage too small for the file: 120 bytes needed, 100 available",
    ),
    (
        ErrorKind::HeaderLength { length: 9000, limit: 4096 },
        "limit.header",
        "the header has 9000 bytes, but the limit that was set is 4096",
    ),
    (ErrorKind::SumMissing, "usage.sum", "the file contains no sum"),
    (ErrorKind::NoWindow, "usage.window", "the window is empty: give it at least 1 byte"),
];

#[test]
fn each_mistake_has_its_message() {
    for (kind, code, message) in MISTAKES {
        assert_eq!(kind.at(7).to_string(), format!("error[{code}] at byte 7: {message}"));
        let class = if code.starts_with("limit.") { Class::Limit } else { Class::Usage };
        assert_eq!((kind.code(), kind.class()), (code, class));
    }
}
