//! The conformance vectors as two files on the card, which are read in turns.

use crate::card::{CardError, DescribedError, NoClock};
use app::vectors::{Failure, File, Memory, run};
use app::{Sink, Text};
use core::fmt::Write;
use embedded_safetensors::io::Seekable;
use embedded_sdmmc::{BlockDevice, Mode, SdCardError, VolumeIdx, VolumeManager};

/// Validates the vectors on this card.
///
/// # Errors
/// Returns the exit code of the error, which is reported.
pub fn judge_vectors(
    card: impl BlockDevice<Error = SdCardError>,
    sink: &mut Text<impl Write>,
) -> Result<(), u8> {
    judge(card, sink).map_err(|failure| {
        let file = if failure.file() == Some(File::Pack) { PACK } else { MANIFEST };
        failure.map(|error| DescribedError { error, file }).report(sink)
    })
}

const MANIFEST: &str = "MANIFEST.JSN";
const PACK: &str = "VECTORS.BIN";

fn judge(
    card: impl BlockDevice<Error = SdCardError>,
    sink: &mut impl Sink,
) -> Result<(), Failure<CardError>> {
    let cannot_open = |file| move |error| Failure::NoFile { file, error };
    // One directory, two files, one volume.
    let manager: VolumeManager<_, _, 1, 2, 1> = VolumeManager::new_with_limits(card, NoClock, 0);
    let volume = manager.open_volume(VolumeIdx(0)).map_err(cannot_open(File::Manifest))?;
    let root = volume.open_root_dir().map_err(cannot_open(File::Manifest))?;
    let open = |name, file| root.open_file_in_dir(name, Mode::ReadOnly).map_err(cannot_open(file));
    let (manifest, pack) = (open(MANIFEST, File::Manifest)?, open(PACK, File::Pack)?);
    run(Seekable::new(manifest), Seekable::new(pack), &mut Memory::new(), sink).map(drop)
}
