//! The flash: what starts the chip, and the partition that has the model.

use embedded_safetensors::{Error, ErrorKind, View};

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

/// The model that the partition begins with. What is behind its file is of no interest, but only the file says where it
/// ends: an error does, if nothing else is wrong.
pub fn model() -> Result<View<'static>, Error> {
    let partition = partition();
    match View::parse(partition) {
        Err(Error { kind: ErrorKind::DataTrailing { .. }, at }) => {
            let end = usize::try_from(at).unwrap_or(usize::MAX);
            View::parse(partition.get(..end).unwrap_or(partition))
        }
        outcome => outcome,
    }
}
