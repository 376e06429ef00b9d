//! Writing a file, described in no order, over a wire that is listened to.

use crate::description::{KEYS, TENSORS};
use embedded_io::{ErrorKind, ErrorType, Write};
use embedded_safetensors::{
    WriteError,
    write::{FileSpec, Writer},
};

/// As a wire takes them.
const WINDOW: usize = 64;

/// Memory to sort in.
pub type Order = [u32; TENSORS + KEYS];

/// Takes the bytes of one file, and no others.
pub struct Wire {
    due: &'static [u8],
}

impl Wire {
    /// That file is to come.
    pub fn new(file: &'static [u8]) -> Self {
        Self { due: file }
    }
}

impl ErrorType for Wire {
    type Error = ErrorKind;
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.due = self.due.strip_prefix(bytes).ok_or(ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// Writes the file, and says how long it was, if each byte was the one that was due.
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
    while let Some(due) = writer.next_tensor() {
        let at = writer.position();
        let len = due.remaining.min(WINDOW as u64);
        let now = file.get(at as usize..at.wrapping_add(len) as usize).ok_or(WriteError::Full { at })?;
        writer.write_bytes(now)?;
    }
    writer.finish()?;
    Ok(plan.file_len())
}
