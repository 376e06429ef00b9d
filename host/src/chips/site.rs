//! The chip that a command is about, and what is in its flash already: arguments of `fit` and `flash`.

use crate::chips::chip::{Area, Chip};
use crate::chips::firmware::segments;
use crate::chips::place::Refusal;
use crate::chips::registry;
use crate::chips::size::{self, Used, size, span};
use crate::complaint::Complaint;
use crate::sums::open_file;
use crate::text::quoted;
use probe_rs::Target;
use probe_rs::config::Registry;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What is in flash.
#[derive(clap::Args)]
pub struct Inhabitants {
    /// The firmware that stays in flash beside the model
    #[arg(long, value_name = "ELF")]
    pub firmware: Option<PathBuf>,

    /// What else stays in flash: so many bytes from its beginning, or a range of addresses
    #[arg(long, value_name = "BYTES|START..END", value_parser = size::used)]
    pub used: Vec<Used>,

    /// How much flash the board has behind a chip that has none inside
    #[arg(long, value_name = "BYTES", value_parser = size::bytes)]
    pub flash_size: Option<u64>,
}

/// A chip and what is in its flash.
pub struct Site {
    pub target: Target,
    pub chip: Chip,
    pub used: Vec<Range<u64>>,
    /// Whether the size of the flash is known.
    pub is_sized: bool,
}

impl Site {
    /// # Errors
    /// There is no such chip, or it has no flash; the firmware cannot be read, or is not for it.
    pub fn new(name: &str, inhabitants: &Inhabitants) -> Result<Self, Complaint> {
        let target = target(name)?;
        let mut chip = registry::chip(&target);
        if chip.areas.is_empty() {
            let sentence = format!("probe-rs knows no flash of {} that it can program", chip.name);
            return Err(Complaint::usage(sentence));
        }
        if let Some(bytes) = inhabitants.flash_size {
            chip.limit(bytes).map_err(Complaint::usage)?;
        }
        let mut used: Vec<Range<u64>> = inhabitants.used.iter().map(|used| range(&chip, used)).collect();
        if let Some(firmware) = &inhabitants.firmware {
            used.extend(inside(&chip, firmware)?);
        }
        let is_sized = inhabitants.flash_size.is_some() || !chip.usual().any(Area::is_window);
        Ok(Self { target, chip, used, is_sized })
    }

    /// # Errors
    /// Where the flash ends is for the board to say, and nobody has said it.
    pub fn need_size(&self) -> Result<(), Complaint> {
        let window = self.chip.usual().find(|area| area.is_window() && !self.is_sized);
        let Some(area) = window else { return Ok(()) };
        Err(Complaint::usage(format!(
            "the flash of {} is outside of it, in a window of {}: how much the board has is said by --flash-size (2M, \
             say), or where the model is to lie by --at",
            self.chip.name,
            size(area.pages.len())
        )))
    }
}

/// An address that makes no sense is bad usage; room that is missing is an answer.
pub fn complaint(model: &Path, refusal: Refusal) -> Complaint {
    match refusal {
        Refusal::Address(sentence) => Complaint::usage(sentence),
        Refusal::NoRoom { sentence, .. } => {
            Complaint::bad(model, "no_room", format!("does not fit: {sentence}"))
        }
    }
}

fn target(name: &str) -> Result<Target, Complaint> {
    let asked = quoted(name);
    registry::find(&Registry::from_builtin_families(), name).map_err(|unknown| {
        Complaint::usage(match unknown {
            registry::Unknown::None(near) if near.is_empty() => {
                format!("there is no chip {asked}; `safetensors fit --list` has all that are known")
            }
            registry::Unknown::None(near) => {
                format!("there is no chip {asked}; is {} meant?", near.join(" or "))
            }
            registry::Unknown::Several(count, first) => {
                let more = if count > first.len() { ", …" } else { "" };
                format!("{asked} fits the names of {count} chips: {}{more}", first.join(", "))
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

/// What of a firmware lies in flash.
fn inside(chip: &Chip, firmware: &Path) -> Result<Vec<Range<u64>>, Complaint> {
    let (file, _) = open_file(firmware).map_err(|reason| Complaint::not_read(firmware, reason))?;
    let mut found = segments(file).map_err(|sentence| Complaint::about(firmware, sentence))?;
    found.retain(|segment| !chip.areas.iter().all(|area| area.pages.around(segment).is_empty()));
    if found.is_empty() {
        let flash: Vec<String> = chip.areas.iter().map(|area| span(&area.pages.range())).collect();
        let sentence = format!("has nothing in the flash of {}, which is at {}", chip.name, flash.join(", "));
        return Err(Complaint::about(firmware, sentence));
    }
    Ok(found)
}
