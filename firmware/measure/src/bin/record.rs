//! Firmware that does nothing but describe a file, sort it and record it in flash.
#![no_std]
#![no_main]

use core::hint::black_box;
use embedded_safetensors::{Dtype, FileSpec, FlashFile, TensorSpec};
use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};

static TENSORS: [TensorSpec<'static>; 2] =
    [TensorSpec::new("counts", Dtype::U32, &[64]), TensorSpec::new("activations", Dtype::F32, &[64, 10])];

/// Flash whose driver has no code.
struct Chip;

impl ErrorType for Chip {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Chip {
    const READ_SIZE: usize = 1;

    fn read(&mut self, _: u32, _: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        Ok(())
    }

    fn capacity(&self) -> usize {
        1 << 20
    }
}

impl NorFlash for Chip {
    const WRITE_SIZE: usize = 8;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        black_box((from, to));
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        black_box((offset, bytes));
        Ok(())
    }
}

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let (job, file) = linkcheck::request();
    let spec = FileSpec::new(black_box(&TENSORS)).with_metadata(&[("device", "unit-7")]);
    let storage = FlashFile::partition(Chip, job.mode..job.mode.wrapping_add(1 << 16));
    linkcheck::exit(linkcheck::record(storage, spec, file, linkcheck::order()).is_err().into())
}
