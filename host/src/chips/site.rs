//! The chip of `fit` and `flash`, and the used parts of its flash.

use crate::chips::chip::Chip;
use crate::chips::firmware::segments;
use crate::chips::registry;
use crate::chips::size::{self, Used};
use crate::error::Error;
use crate::input::open::open_file;
use probe_rs::Target;
use probe_rs::config::Registry;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A chip and the used parts of its flash.
#[derive(clap::Args)]
pub struct UsedFlash {
    /// Firmware that stays in flash beside the model
    #[arg(long, value_name = "ELF")]
    firmware: Option<PathBuf>,

    /// Other used flash: bytes from its beginning, or an address range (repeatable)
    #[arg(long, value_name = "BYTES|START..END", value_parser = size::used)]
    used: Vec<Used>,

    /// Size of the board's flash, for chips without internal flash
    #[arg(long, value_name = "BYTES", value_parser = size::bytes)]
    flash_size: Option<u64>,
}

impl UsedFlash {
    /// The chip of this name, as probe-rs has it, and its memory.
    ///
    /// # Errors
    /// There is no such chip, or it has no flash; the firmware cannot be read, or is for another chip.
    pub fn of(&self, name: &str) -> Result<(Target, Chip), Error> {
        let target = registry::find(&Registry::from_builtin_families(), name).map_err(Error::usage)?;
        let mut chip = registry::chip(&target);
        let Some(first) = chip.usual().next() else {
            return Err(Error::usage(format!("probe-rs cannot program any flash of {}", chip.name)));
        };
        let start = first.pages.range().start;
        if let Some(bytes) = self.flash_size {
            chip.limit(bytes).map_err(Error::usage)?;
        }
        let ranges = self.used.iter().map(|&Used { begin, len }| {
            let begin = begin.unwrap_or(start);
            begin..begin.saturating_add(len)
        });
        chip.used = ranges.collect();
        if let Some(firmware) = &self.firmware {
            chip.used.extend(inside(&chip, firmware)?);
        }
        Ok((target, chip))
    }
}

/// The ranges of the firmware in flash.
fn inside(chip: &Chip, firmware: &Path) -> Result<Vec<Range<u64>>, Error> {
    let (file, _) = open_file(firmware).map_err(|reason| Error::not_read(firmware, reason))?;
    let mut found = segments(file).map_err(|sentence| Error::about(firmware, sentence))?;
    found.retain(|segment| !chip.areas.iter().all(|area| area.pages.around(segment).is_empty()));
    if found.is_empty() {
        let sentence = format!("has no segments in the flash of {} at {}", chip.name, chip.ranges());
        return Err(Error::about(firmware, sentence));
    }
    Ok(found)
}
