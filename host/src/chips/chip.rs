//! The properties of a chip that matter for models.

use crate::chips::pages::Pages;
use std::ops::Range;

/// The largest internal flash of a chip. A larger range is a window to external flash of unknown size.
const LARGEST_INSIDE: u64 = 16 << 20;

/// The memory of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chip {
    pub name: String,
    /// Programmable flash in address order.
    pub areas: Vec<Area>,
    /// Other nonvolatile memory, for error messages.
    pub others: Vec<Range<u64>>,
    /// The longest range of RAM in bytes.
    pub ram: u64,
}

/// Contiguous flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    pub pages: Pages,
    /// The chip boots from here.
    pub boot: bool,
    /// The size of a write.
    pub unit: u64,
    /// The value of an erased byte.
    pub erased: u8,
    /// Pages cannot be written one by one: programming one may erase its neighbours.
    pub uneven: bool,
}

impl Area {
    /// Whether this is a window to external flash, which may be smaller.
    pub fn is_window(&self) -> bool {
        self.pages.len() > LARGEST_INSIDE
    }
}

impl Chip {
    /// The areas for models without an explicit address: the boot areas, if any.
    pub fn usual(&self) -> impl Iterator<Item = &Area> {
        let boots = self.areas.iter().any(|area| area.boot);
        self.areas.iter().filter(move |area| area.boot || !boots)
    }

    pub fn area_at(&self, address: u64) -> Option<&Area> {
        self.areas.iter().find(|area| area.pages.range().contains(&address))
    }

    /// Sets the size of the flash behind the boot window.
    pub fn limit(&mut self, bytes: u64) -> Result<(), String> {
        let boots = self.areas.iter().any(|area| area.boot);
        let first = self.areas.iter_mut().find(|area| area.boot || !boots);
        let Some(area) = first else { return Ok(()) };
        let most = area.pages.len();
        if bytes > most {
            let most = crate::chips::size::size(most);
            return Err(format!("--flash-size: {} has at most {most}", self.name));
        }
        area.pages.truncate(bytes);
        Ok(())
    }
}
