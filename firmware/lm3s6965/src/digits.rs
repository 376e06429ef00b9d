//! The digits as a file on the card.

use crate::file::with_model;
use app::{ModelLocation, Text};
use core::fmt::Write;
use embedded_sdmmc::{BlockDevice, SdCardError};

/// Reads the digits with the model on this card.
///
/// # Errors
/// Returns the exit code of the error, which is reported.
pub fn read_digits(
    card: impl BlockDevice<Error = SdCardError>,
    sink: &mut Text<impl Write>,
) -> Result<(), u8> {
    with_model(card, sink, |name, file, sink| {
        app::read_digits(&ModelLocation { name, ram: crate::RAM }, file, sink, &mut ())
    })
}
