//! The model as a file on the card.

use crate::card::{CardError, DescribedError, NoClock};
use app::{Failure, Text};
use core::fmt::Write;
use embedded_safetensors::io::Seekable;
use embedded_sdmmc::{BlockDevice, File, Mode, SdCardError, VolumeIdx, VolumeManager};

const MODEL: &str = "MODEL.ST";

/// The model on a card: one volume, one directory and one file are open.
pub type ModelFile<'v, C> = Seekable<File<'v, C, NoClock, 1, 1, 1>>;

/// Opens the model on this card, and passes its name and the file on.
///
/// # Errors
/// Returns the exit code of the error, which is reported.
pub fn with_model<C: BlockDevice<Error = SdCardError>, W: Write>(
    card: C,
    sink: &mut Text<W>,
    act: impl FnOnce(&str, ModelFile<'_, C>, &mut Text<W>) -> Result<(), Failure<CardError>>,
) -> Result<(), u8> {
    let outcome = open(card, |file| act(MODEL, file, sink));
    outcome.map_err(|failure| failure.map(|error| DescribedError { error, file: MODEL }).report(sink))
}

fn open<C: BlockDevice<Error = SdCardError>>(
    card: C,
    act: impl FnOnce(ModelFile<'_, C>) -> Result<(), Failure<CardError>>,
) -> Result<(), Failure<CardError>> {
    let manager = VolumeManager::new_with_limits(card, NoClock, 0);
    let volume = manager.open_volume(VolumeIdx(0)).map_err(Failure::NoModel)?;
    let root = volume.open_root_dir().map_err(Failure::NoModel)?;
    let file = root.open_file_in_dir(MODEL, Mode::ReadOnly).map_err(Failure::NoModel)?;
    act(Seekable::new(file))
}
