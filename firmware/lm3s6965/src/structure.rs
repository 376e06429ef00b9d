//! A nested structure as a file on the card.

use crate::file::with_model;
use app::Text;
use core::fmt::Write;
use embedded_sdmmc::{BlockDevice, SdCardError};

/// Prints the structure in the file on this card.
///
/// # Errors
/// Returns the exit code of the error, which is printed.
pub fn show_structure(
    card: impl BlockDevice<Error = SdCardError>,
    sink: &mut Text<impl Write>,
) -> Result<(), u8> {
    let mut code = 0;
    with_model(card, sink, |_, file, sink| {
        code = app::show_structure(file, sink)?;
        Ok(())
    })?;
    if code == 0 { Ok(()) } else { Err(code) }
}
