//! The interface of sums.

use crate::error::{Error, ErrorKind};

/// A sum of bytes that arrive in pieces, such as [`Crc32`](super::Crc32) or [`Sha256`](super::Sha256).
///
/// Implement it for the hardware of your chip, or for another algorithm:
///
/// ```
/// use embedded_safetensors::{Model, integrity::Sum};
///
/// /// The CRC unit of a chip.
/// struct Unit<'p>(&'p mut Registers);
/// # struct Registers(u32);
/// # impl Registers {
/// #     fn write(&mut self, byte: u8) { self.0 = self.0.rotate_left(5) ^ u32::from(byte) }
/// #     fn read(&self) -> u32 { self.0 }
/// # }
///
/// impl Sum for Unit<'_> {
///     type Value = u32;
///
///     fn update(&mut self, bytes: &[u8]) {
///         bytes.iter().for_each(|&byte| self.0.write(byte));
///     }
///
///     fn finish(self) -> u32 {
///         self.0.read()
///     }
///
///     fn head(value: &u32) -> u32 {
///         *value
///     }
/// }
/// # let storage = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/network.safetensors"))[..];
/// # let mut registers = Registers(0);
/// let mut model = Model::open(storage, &mut [0; 64])?;
/// let sum = model.sum(Unit(&mut registers), &mut [0; 64])?;
/// # assert_ne!(sum, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Sum {
    /// The value of the sum.
    type Value: Copy + PartialEq;

    /// Adds the next bytes. Their division into pieces does not change the sum.
    fn update(&mut self, bytes: &[u8]);

    /// Returns the sum of all bytes.
    fn finish(self) -> Self::Value;

    /// Returns the first four bytes of a value as a big-endian number, for errors.
    fn head(value: &Self::Value) -> u32;
}

/// Compares two sums of a file.
///
/// # Errors
/// [`ErrorKind::SumMismatch`] at byte `at`.
pub(crate) fn check<S: Sum>(expected: &S::Value, found: &S::Value, at: u64) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    Err(ErrorKind::SumMismatch { expected: S::head(expected), found: S::head(found) }.at(at))
}
