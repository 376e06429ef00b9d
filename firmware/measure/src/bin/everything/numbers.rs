//! Computes numbers that depend on all parts of a value, so that the compiler removes nothing.

use embedded_safetensors::{
    Error, ErrorKind, ReadError, TensorInfo, error::Class, index::IndexedTensor, tensor::Located,
    validate::Summary,
};

/// Returns the result, or a number that depends on all parts of the error.
pub fn number(outcome: Result<u64, Error>) -> u64 {
    outcome.unwrap_or_else(|error| {
        let class = match error.kind.class() {
            Class::File => 1,
            Class::Limit => 2,
            Class::Usage => 3,
        };
        let field = match error.kind {
            ErrorKind::Missing(field) => bytes(field.name().as_bytes()),
            _ => 0,
        };
        error.at ^ class ^ field ^ bytes(error.kind.code().as_bytes())
    })
}

/// Returns a number that depends on every byte.
pub fn bytes(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum: u64, &byte| sum.rotate_left(5) ^ u64::from(byte))
}

/// Like [`number`], for reads from storage.
pub fn read_number<E>(outcome: Result<u64, ReadError<E>>) -> u64 {
    match outcome {
        Ok(seen) => seen,
        Err(ReadError::Format(error)) => number(Err(error)),
        Err(ReadError::Source(_)) => 1,
        Err(ReadError::UnexpectedEof { at }) => at,
    }
}

/// Returns a number that depends on all parts of a summary.
pub fn summary(summary: Summary) -> u64 {
    summary.tensors ^ summary.data_start ^ summary.data_len
}

/// Returns a number that depends on a tensor's dtype, shape and range.
pub fn tensor(info: &TensorInfo) -> u64 {
    let range = info.begin() ^ info.end() ^ info.byte_len();
    range ^ dims(info.shape().dims()) ^ u64::from(info.dtype().bits()) ^ u64::from(info.locate().is_ok())
}

/// Returns a number that depends on all parts of a tensor in an index.
pub fn indexed(found: &IndexedTensor<'_>) -> u64 {
    let range = found.begin() ^ found.end() ^ found.byte_len();
    let info = found.info().map_or_else(|kind| bytes(kind.code().as_bytes()), |info| tensor(&info));
    range ^ bytes(found.name().as_bytes()) ^ dims(found.dims()) ^ u64::from(found.dtype().bits()) ^ info
}

/// Returns a number that depends on a shape.
pub fn dims(dims: &[u64]) -> u64 {
    dims.iter().fold(0, |sum, &dim| sum ^ dim)
}
