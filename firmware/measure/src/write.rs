//! Writes a file, described in no particular order, to a wire whose bytes are checked.

use crate::description::{KEYS, TENSORS};
use embedded_io::{ErrorKind, ErrorType, Write};
use embedded_safetensors::{
    WriteError,
    write::{FileSpec, Writer},
};

/// The size of the buffer, as for a wire.
const WINDOW: usize = 64;

/// Memory for sorting.
pub type Order = [u32; TENSORS + KEYS];

/// A sink that accepts only the bytes of one file.
pub struct Wire {
    expected: &'static [u8],
}

impl Wire {
    /// Creates a sink that expects this file.
    pub fn new(file: &'static [u8]) -> Self {
        Self { expected: file }
    }
}

impl ErrorType for Wire {
    type Error = ErrorKind;
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.expected = self.expected.strip_prefix(bytes).ok_or(ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// Writes the file; returns its length if all bytes were as expected.
pub fn write_file(spec: FileSpec<'static>, file: &'static [u8], order: &mut Order) -> Option<u32> {
    write(spec, file, order).ok().map(|len| len as u32)
}

fn write(
    spec: FileSpec<'static>,
    file: &'static [u8],
    order: &mut Order,
) -> Result<u64, WriteError<ErrorKind>> {
    let plan = spec.plan_sorted(order)?;
    let mut writer = Writer::new(Wire::new(file), plan, &mut [0; WINDOW])?;
    while let Some(tensor) = writer.next_tensor() {
        let at = writer.position();
        let len = tensor.remaining.min(WINDOW as u64);
        let now = file.get(at as usize..at.wrapping_add(len) as usize).ok_or(WriteError::Full { at })?;
        writer.write_bytes(now)?;
    }
    writer.finish()?;
    Ok(plan.file_len())
}
