//! The chip of `fit` and `flash`, and the used parts of its flash.

use crate::chips::chip::{Area, Chip};
use crate::chips::firmware::segments;
use crate::chips::place::PlacementError;
use crate::chips::registry;
use crate::chips::size::{self, Used, size, span};
use crate::error::Error;
use crate::input::open::open_file;

use crate::text::quoted;
use probe_rs::Target;
use probe_rs::config::Registry;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The used parts of flash.
#[derive(clap::Args)]
pub struct UsedFlash {
    /// Firmware that stays in flash beside the model
    #[arg(long, value_name = "ELF")]
    pub firmware: Option<PathBuf>,

    /// Other used flash: bytes from its beginning, or an address range (repeatable)
    #[arg(long, value_name = "BYTES|START..END", value_parser = size::used)]
    pub used: Vec<Used>,

    /// Size of the board's flash, for chips without internal flash
    #[arg(long, value_name = "BYTES", value_parser = size::bytes)]
    pub flash_size: Option<u64>,
}

/// A chip and the used parts of its flash.
pub struct Site {
    pub target: Target,
    pub chip: Chip,
    pub used: Vec<Range<u64>>,
    /// Whether the size of the flash is known.
    pub is_sized: bool,
}

impl Site {
    /// # Errors
    /// There is no such chip, or it has no flash; the firmware cannot be read, or is for another chip.
    pub fn new(name: &str, used_flash: &UsedFlash) -> Result<Self, Error> {
        let target = target(name)?;
        let mut chip = registry::chip(&target);
        if chip.areas.is_empty() {
            let sentence = format!("probe-rs cannot program any flash of {}", chip.name);
            return Err(Error::usage(sentence));
        }
        if let Some(bytes) = used_flash.flash_size {
            chip.limit(bytes).map_err(Error::usage)?;
        }
        let mut used: Vec<Range<u64>> = used_flash.used.iter().map(|used| range(&chip, used)).collect();
        if let Some(firmware) = &used_flash.firmware {
            used.extend(inside(&chip, firmware)?);
        }
        let is_sized = used_flash.flash_size.is_some() || !chip.usual().any(Area::is_window);
        Ok(Self { target, chip, used, is_sized })
    }

    /// # Errors
    /// The size of the flash depends on the board and is not given.
    pub fn need_size(&self) -> Result<(), Error> {
        let window = self.chip.usual().find(|area| area.is_window() && !self.is_sized);
        let Some(area) = window else { return Ok(()) };
        Err(Error::usage(format!(
            "{} has external flash in a window of {}; give its size with --flash-size (such as 2M), \
             or the address of the model with --at",
            self.chip.name,
            size(area.pages.len())
        )))
    }
}

/// An invalid address is bad usage; too little space is a negative answer.
pub fn complaint(model: &Path, refusal: PlacementError) -> Error {
    match refusal {
        PlacementError::Address(sentence) => Error::usage(sentence),
        PlacementError::NoRoom { sentence, .. } => {
            Error::bad(model, "no_room", format!("does not fit: {sentence}"))
        }
    }
}

fn target(name: &str) -> Result<Target, Error> {
    let asked = quoted(name);
    registry::find(&Registry::from_builtin_families(), name).map_err(|unknown| {
        Error::usage(match unknown {
            registry::Unknown::None(near) if near.is_empty() => {
                format!("unknown chip {asked}; `safetensors fit --list` lists all")
            }
            registry::Unknown::None(near) => {
                format!("unknown chip {asked}; did you mean {}?", near.join(" or "))
            }
            registry::Unknown::Several(count, first) => {
                let more = if count > first.len() { ", …" } else { "" };
                format!("chip name {asked} is ambiguous, {count} match: {}{more}", first.join(", "))
            }
        })
    })
}

fn range(chip: &Chip, used: &Used) -> Range<u64> {
    match used {
        Used::Range(range) => range.clone(),
        Used::Bytes(bytes) => {
            let start = chip.usual().next().map_or(0, |area| area.pages.range().start);
            start..start.saturating_add(*bytes)
        }
    }
}

/// The ranges of the firmware in flash.
fn inside(chip: &Chip, firmware: &Path) -> Result<Vec<Range<u64>>, Error> {
    let (file, _) = open_file(firmware).map_err(|reason| Error::not_read(firmware, reason))?;
    let mut found = segments(file).map_err(|sentence| Error::about(firmware, sentence))?;
    found.retain(|segment| !chip.areas.iter().all(|area| area.pages.around(segment).is_empty()));
    if found.is_empty() {
        let flash: Vec<String> = chip.areas.iter().map(|area| span(&area.pages.range())).collect();
        let sentence = format!("has no segments in the flash of {} at {}", chip.name, flash.join(", "));
        return Err(Error::about(firmware, sentence));
    }
    Ok(found)
}
