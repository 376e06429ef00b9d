//! The sentence transformer, its vocabulary and a text as three files on the card.

use crate::Pulled;
use crate::card::{Card, CardError, DescribedError, NoClock};
use app::Text;
use app::minilm::{Failure, Files, Memory};
use core::cell::Cell;
use core::fmt::Write;
use embedded_safetensors::io::Seekable;
use embedded_sdmmc::{Mode, VolumeIdx, VolumeManager};

const MODEL: &str = "MODEL.ST";
const VOCABULARY: &str = "VOCAB.TXT";
const TEXT: &str = "TEXT.TXT";

/// Embeds the text on this card, which is pulled after so many blocks. Reports how many were read, with those
/// of the file system.
///
/// # Errors
/// Returns the exit code of the error, which is reported.
pub fn embed(card: Card, blocks: u32, memory: &mut Memory, sink: &mut Text<impl Write>) -> Result<(), u8> {
    let left = Cell::new(blocks);
    // The file that was opened last: only opening fails for its name.
    let opened = Cell::new(MODEL);
    let outcome = try_embed(Pulled { card, left: &left }, &opened, memory, sink);
    // The console never fails.
    let _ = writeln!(sink.0, "card: {} blocks of 512 bytes", blocks - left.get());
    outcome.map_err(|failure| failure.map(|error| DescribedError { error, file: opened.get() }).report(sink))
}

fn try_embed(
    card: Pulled<'_>,
    opened: &Cell<&'static str>,
    memory: &mut Memory,
    sink: &mut Text<impl Write>,
) -> Result<(), Failure<CardError>> {
    let failed = |error| Failure::Model(app::Failure::NoModel(error));
    // One directory, three files, one volume.
    let manager: VolumeManager<_, _, 1, 3, 1> = VolumeManager::new_with_limits(card, NoClock, 0);
    let volume = manager.open_volume(VolumeIdx(0)).map_err(failed)?;
    let root = volume.open_root_dir().map_err(failed)?;
    let open = |name| {
        opened.set(name);
        root.open_file_in_dir(name, Mode::ReadOnly).map(Seekable::new).map_err(failed)
    };
    let (model, vocabulary, text) = (open(MODEL)?, open(VOCABULARY)?, open(TEXT)?);
    app::minilm::embed(Files { name: MODEL, model, vocabulary, text }, crate::RAM, memory, sink)
}
