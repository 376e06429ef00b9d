//! The quantised matrices as a file on the card.

use crate::file::with_model;
use app::Text;
use core::fmt::Write;
use embedded_sdmmc::{BlockDevice, SdCardError};

/// Multiplies the quantised matrices of the model on this card.
///
/// # Errors
/// Returns the exit code of the error, which is reported.
pub fn multiply(card: impl BlockDevice<Error = SdCardError>, sink: &mut Text<impl Write>) -> Result<(), u8> {
    with_model(card, sink, |_, file, sink| app::multiply(file, sink))
}
