//! Computes the sum that a file contains.

use crate::change::PIECE;
use crate::disk::{Handle, read_up_to};
use crate::error::{Doing, EditErrorKind};
use core::ops::ControlFlow;
use embedded_safetensors::Error;
use embedded_safetensors::file::FileErrorKind;
use embedded_safetensors::integrity::{Sha256, Verifier};

/// Receives how many bytes are done and how many there are, and returns whether to continue.
pub(crate) type Watch<'w> = &'w mut dyn FnMut(u64, u64) -> ControlFlow<()>;

pub(crate) fn report(watch: Watch<'_>, done: u64, total: u64) -> Result<(), EditErrorKind> {
    if watch(done, total).is_break() { Err(EditErrorKind::Stopped) } else { Ok(()) }
}

/// Sums a file that begins with `header`, and continues with the bytes of `file` after it. `end` verifies the
/// sum or returns it.
pub(crate) fn sum_after<T>(
    header: &[u8],
    file: &dyn Handle,
    watch: Watch<'_>,
    end: impl FnOnce(Verifier<Sha256>) -> Result<T, Error>,
) -> Result<T, EditErrorKind> {
    let total = file.stat().doing("read")?.version.len;
    let (mut verifier, mut buffer) = (Verifier::new(Sha256::new()), vec![0; PIECE]);
    let mut at = header.len() as u64;
    verifier.update(header);
    loop {
        report(watch, at.min(total), total)?;
        let len = read_up_to(file, at, &mut buffer).doing("read")?;
        verifier.update(buffer.get(..len).unwrap_or(&[]));
        at += len as u64;
        if len < PIECE {
            return end(verifier).map_err(|error| FileErrorKind::Format(error).into());
        }
    }
}
