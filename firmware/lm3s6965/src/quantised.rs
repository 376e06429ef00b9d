//! The quantised matrices as a file on the card.

use crate::card::{CardError, DescribedError, NoClock};
use app::{Failure, Sink, Text};
use core::fmt::Write;
use embedded_safetensors::io::Seekable;
use embedded_sdmmc::{BlockDevice, Mode, SdCardError, VolumeIdx, VolumeManager};

const MODEL: &str = "MODEL.ST";

/// Multiplies the quantised matrices of the model on this card.
///
/// # Errors
/// Returns the exit code of the error, which is reported.
pub fn multiply(card: impl BlockDevice<Error = SdCardError>, sink: &mut Text<impl Write>) -> Result<(), u8> {
    let outcome = read(card, sink);
    outcome.map_err(|failure| failure.map(|error| DescribedError { error, file: MODEL }).report(sink))
}

fn read(card: impl BlockDevice<Error = SdCardError>, sink: &mut impl Sink) -> Result<(), Failure<CardError>> {
    // One directory, one file, one volume.
    let manager: VolumeManager<_, _, 1, 1, 1> = VolumeManager::new_with_limits(card, NoClock, 0);
    let volume = manager.open_volume(VolumeIdx(0)).map_err(Failure::NoModel)?;
    let root = volume.open_root_dir().map_err(Failure::NoModel)?;
    let file = root.open_file_in_dir(MODEL, Mode::ReadOnly).map_err(Failure::NoModel)?;
    app::multiply(Seekable::new(file), sink)
}
