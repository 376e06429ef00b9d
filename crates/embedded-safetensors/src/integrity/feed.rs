//! Adds the bytes of storage to a sum.

use super::{ReadAt, form};
use crate::error::ErrorKind;
use crate::integrity::Sum;
use crate::io::ReadError;
use crate::io::read::arrived;
use crate::util::bytes::{front, index_below};

/// Adds the bytes from `at` to `end` of the file: straight from memory, or through the buffer.
///
/// # Errors
/// [`ErrorKind::NoWindow`] when the buffer is empty and needed; those of the storage;
/// [`ReadError::UnexpectedEof`].
#[form]
pub(crate) async fn feed<S: ReadAt, H: Sum>(
    source: &mut S,
    mut at: u64,
    end: u64,
    sum: &mut H,
    buffer: &mut [u8],
) -> Result<(), ReadError<S::Error>> {
    if let Some(file) = source.in_memory() {
        let from = index_below(at, file.len()).and_then(|at| file.get(at..)).unwrap_or_default();
        let part =
            index_below(end.saturating_sub(at), from.len()).and_then(|len| from.get(..len)).unwrap_or(from);
        sum.update(part);
        at = at.saturating_add(part.len() as u64);
        return if at < end { Err(ReadError::UnexpectedEof { at }) } else { Ok(()) };
    }
    while at < end {
        let piece = front(buffer, end.saturating_sub(at));
        if piece.is_empty() {
            return Err(ReadError::Format(ErrorKind::NoWindow.at(at)));
        }
        let len = arrived(source.read_at(at, piece).await, at, piece.len())?;
        sum.update(piece.get(..len).unwrap_or_default());
        at = at.saturating_add(len as u64);
    }
    Ok(())
}
