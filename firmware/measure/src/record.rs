//! Records a file, described in no particular order, in flash.

use crate::write::Order;
use embedded_safetensors::{
    WriteAt, WriteError,
    io::NorFile,
    write::{FileSpec, Writer},
};
use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};

/// The size of the buffer, as for a page of flash.
const BUFFER: usize = 64;

/// Records the file in this storage, and returns its length.
fn record<S: WriteAt>(
    storage: S,
    spec: FileSpec<'static>,
    file: &[u8],
    order: &mut Order,
) -> Result<u64, WriteError<S::Error>> {
    let plan = spec.plan_sorted(order)?;
    let mut buffer = [0; BUFFER];
    let mut recorder = Writer::record(storage, plan, &mut buffer)?;
    while let Some(tensor) = recorder.next_tensor() {
        let at = recorder.position();
        let len = tensor.remaining.min(20);
        let now = file.get(at as usize..at.wrapping_add(len) as usize).ok_or(WriteError::Full { at })?;
        recorder.write_bytes(now)?;
    }
    recorder.finish()?;
    Ok(plan.file_len())
}

/// Records the file in emulated flash; returns its length if the flash then contains the file.
pub fn record_file(spec: FileSpec<'static>, file: &[u8], flash: &mut [u8], order: &mut Order) -> Option<u32> {
    let len = record(NorFile::new(Flash(flash)), spec, file, order).ok()?;
    (flash.get(..len as usize)? == file).then_some(len as u32)
}

/// Flash that is erased in sectors of 4 KiB and written in words of 8 bytes.
struct Flash<'m>(&'m mut [u8]);

impl ErrorType for Flash<'_> {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash<'_> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, _: u32, _: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        Err(NorFlashErrorKind::Other)
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }
}

impl NorFlash for Flash<'_> {
    const WRITE_SIZE: usize = 8;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        let sectors = self.0.get_mut(from as usize..to as usize).ok_or(NorFlashErrorKind::OutOfBounds)?;
        sectors.fill(0xFF);
        Ok(())
    }

    /// Clears bits, like flash.
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        let cells = self.0.get_mut(offset as usize..).ok_or(NorFlashErrorKind::OutOfBounds)?;
        cells.iter_mut().zip(bytes).for_each(|(cell, byte)| *cell &= byte);
        Ok(())
    }
}
