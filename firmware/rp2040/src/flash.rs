//! The flash: its boot loader, and the partition with the model.

use embedded_safetensors::{Error, View};

/// The bytes of flash of a Pico.
pub const BYTES: u32 = 2 * 1024 * 1024;

/// The boot loader for any flash chip: it uses the oldest read command, which all chips support.
#[used]
#[unsafe(link_section = ".boot2")]
static BOOT2: [u8; 256] = rp2040_boot2::BOOT_LOADER_GENERIC_03H;

unsafe extern "C" {
    static _model_start: u8;
    static _model_end: u8;
}

/// Returns the partition, which the chip maps into memory.
fn partition() -> &'static [u8] {
    let (start, end) = (&raw const _model_start, &raw const _model_end);
    // SAFETY: the linker script defines both ends of one flash range, and nothing writes there while the
    // program runs.
    unsafe { core::slice::from_raw_parts(start, end.addr() - start.addr()) }
}

/// Opens the model at the start of the partition, and ignores the rest.
pub fn model() -> Result<View<'static>, Error> {
    View::parse_prefix(partition()).map(|(model, _)| model)
}
