//! Errors of flash.

use core::fmt;
#[cfg(feature = "embedded-storage")]
use embedded_storage::nor_flash::{NorFlashError, NorFlashErrorKind};
#[cfg(not(feature = "embedded-storage"))]
use embedded_storage_async::nor_flash::{NorFlashError, NorFlashErrorKind};

/// An error of the flash, with a message.
///
/// *Memory*: that of `E`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NorError<E>(pub E);

/// The kind of error that the driver reports.
struct Kind(NorFlashErrorKind);

sentences! {
    Kind:
    Self(NorFlashErrorKind::NotAligned) =>
        "the address or the length of a flash access is not aligned";
    Self(NorFlashErrorKind::OutOfBounds) => "a flash access is beyond the end of the flash";
    _ => "the flash failed";
}

impl<E: NorFlashError> fmt::Display for NorError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Kind(self.0.kind()).fmt(f)
    }
}

#[cfg(feature = "defmt")]
impl<E: NorFlashError> defmt::Format for NorError<E> {
    fn format(&self, f: defmt::Formatter<'_>) {
        Kind(self.0.kind()).format(f);
    }
}

impl<E: NorFlashError> core::error::Error for NorError<E> {}

#[cfg(feature = "embedded-io")]
impl<E: NorFlashError> embedded_io::Error for NorError<E> {
    fn kind(&self) -> embedded_io::ErrorKind {
        embedded_io::ErrorKind::Other
    }
}
