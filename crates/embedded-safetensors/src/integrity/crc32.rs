//! CRC-32.

use super::sum::Sum;

/// A CRC-32: detects every change within 32 adjacent bits, and all but one of 2^32 other accidental changes.
///
/// It is the CRC of zip, gzip, PNG and Ethernet: CRC-32/ISO-HDLC, `zlib.crc32` of Python.
///
/// *Memory*: 8 bytes, and a table of 1 KiB in flash.
///
/// ```
/// use embedded_safetensors::integrity::{Crc32, Sum};
///
/// let mut sum = Crc32::new();
/// sum.update(b"1234");
/// sum.update(b"56789");
/// assert_eq!(sum.finish(), 0xCBF4_3926);
/// ```
#[derive(Clone)]
pub struct Crc32(crc::Digest<'static, u32>);

// Without a table a byte takes 65 instructions on a Cortex-M3 instead of 9. 16 tables take 16 KiB of flash,
// and their code has a panic path.
static CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

impl Crc32 {
    /// Creates the sum of no bytes.
    #[inline]
    pub const fn new() -> Self {
        Self(CRC.digest())
    }
}

impl Default for Crc32 {
    fn default() -> Self {
        Self::new()
    }
}

impl Sum for Crc32 {
    type Value = u32;

    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self) -> u32 {
        self.0.finalize()
    }

    fn head(value: &u32) -> u32 {
        *value
    }
}

shown!(Crc32, _it => "Crc32 {{ .. }}");
