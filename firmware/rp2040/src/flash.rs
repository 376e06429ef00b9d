//! The flash: what starts the chip, and the partition that has the model.

use embedded_safetensors::HeaderCheck;

/// As much as a Pico has.
pub const BYTES: u32 = 2 * 1024 * 1024;

/// For any flash chip that knows the oldest command for reading, which all do.
#[used]
#[unsafe(link_section = ".boot2")]
static BOOT2: [u8; 256] = rp2040_boot2::BOOT_LOADER_GENERIC_03H;

unsafe extern "C" {
    static _model_start: u8;
    static _model_end: u8;
}

/// The partition, which the chip maps into its memory.
fn partition() -> &'static [u8] {
    let (start, end) = (&raw const _model_start, &raw const _model_end);
    // SAFETY: the linker script has the two ends of one range of flash. Nobody writes there while the program runs.
    unsafe { core::slice::from_raw_parts(start, end.addr() - start.addr()) }
}

/// The file that the partition begins with, as long as its header says. Where that says nothing it is all of the
/// partition, and whoever reads it learns what is wrong.
pub fn model() -> &'static [u8] {
    let partition = partition();
    let mut header = HeaderCheck::new(None, &mut []);
    let _ = header.push(&mut &*partition);
    let len = header.summary().map(|summary| summary.data_start + summary.data_len);
    let len = len.and_then(|len| usize::try_from(len).ok());
    len.and_then(|len| partition.get(..len)).unwrap_or(partition)
}
