//! Recognizes padding: the tensors of zeros that
//! [`Placement::Padded`](embedded_safetensors::write::Placement::Padded) puts between others.

use embedded_safetensors::Dtype;
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::file::shared::{PADDING, read_up_to};
use embedded_safetensors::index::{IndexedTensor, OwnedIndex};
use embedded_safetensors::io::ReadAt;
use std::collections::HashSet;
use std::io;

/// The largest unit of a [`Placement`](embedded_safetensors::write::Placement), as no header is longer.
const LARGEST_UNIT: u64 = 1 << 26;

/// The number of bytes compared with zero at a time.
const PIECE: usize = 1 << 16;

/// Returns the names of the tensors that are padding, as
/// [`ModelEditor::padding`](crate::ModelEditor::padding) recognizes it. Of the data, only the bytes of
/// tensors that may be padding are read. Padding is exactly as the writer creates it, and all zeros; any
/// other tensor is kept, whatever its name, so that no data is lost.
///
/// *Memory*: the names; while it runs 64 KiB and 8 bytes for each tensor, if a tensor may be padding.
///
/// # Errors
/// [`FileErrorKind::Changed`] when the file has become shorter; those of the system.
pub fn padding_in(
    index: &OwnedIndex,
    mut file: impl ReadAt<Error = io::Error>,
) -> Result<HashSet<String>, FileErrorKind> {
    let data_start = index.summary().data_start;
    let candidates = (0_u64..).map(|number| format!("{PADDING}{number}"));
    let candidates = candidates.map_while(|name| index.find(&name).ok()?);
    let candidates: Vec<IndexedTensor<'_>> =
        candidates.take_while(|tensor| looks_like_padding(tensor, data_start)).collect();
    if candidates.is_empty() {
        return Ok(HashSet::new());
    }
    let begins: HashSet<u64> = index.tensors().map(|tensor| tensor.begin()).collect();
    let (mut names, mut buffer) = (HashSet::new(), vec![0; PIECE]);
    for tensor in candidates {
        if !begins.contains(&tensor.end()) || !is_zero(&mut file, data_start, &tensor, &mut buffer)? {
            break;
        }
        names.insert(tensor.name().into());
    }
    Ok(names)
}

fn is_zero(
    file: &mut impl ReadAt<Error = io::Error>,
    data_start: u64,
    tensor: &IndexedTensor<'_>,
    buffer: &mut [u8],
) -> Result<bool, FileErrorKind> {
    let (mut at, mut left) = (data_start + tensor.begin(), tensor.byte_len());
    while left > 0 {
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let piece = buffer.get_mut(..len).unwrap_or(&mut []);
        let read = read_up_to(file, at, piece).map_err(|error| FileErrorKind::system("read", error))?;
        if read < piece.len() {
            return Err(FileErrorKind::Changed);
        }
        if piece.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        at += piece.len() as u64;
        left -= piece.len() as u64;
    }
    Ok(true)
}

/// Returns whether a tensor ends at a multiple of a power of two larger than itself, and has the dtype and
/// rank of padding.
fn looks_like_padding(tensor: &IndexedTensor<'_>, data_start: u64) -> bool {
    let [len] = *tensor.dims() else { return false };
    if tensor.dtype() != Dtype::U8 || len == 0 || len >= LARGEST_UNIT {
        return false;
    }
    let unit = (len + 1).next_power_of_two().max(8);
    (data_start + tensor.end()) & (unit - 1) == 0
}
