//! A chip, as far as models are concerned.

use crate::chips::pages::Pages;
use std::ops::Range;

/// The largest flash that a chip has inside. What is larger is a window, behind which the board has what it has.
const LARGEST_INSIDE: u64 = 16 << 20;

/// Memory of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chip {
    pub name: String,
    /// Flash that can be programmed, in the order of addresses.
    pub areas: Vec<Area>,
    /// Other memory that keeps its contents: what it is, for whoever names an address in it.
    pub others: Vec<Range<u64>>,
    /// The longest stretch of memory for data, in bytes.
    pub ram: u64,
}

/// Flash without a hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    pub pages: Pages,
    /// The chip starts from here.
    pub boot: bool,
    /// What is written at once.
    pub unit: u64,
    /// What an erased byte reads as.
    pub erased: u8,
    /// Pages cannot be written one by one: whoever programs one may erase its neighbours.
    pub uneven: bool,
}

impl Area {
    /// Whether this is a window to flash outside of the chip, which may be smaller.
    pub fn is_window(&self) -> bool {
        self.pages.len() > LARGEST_INSIDE
    }
}

impl Chip {
    /// The areas where a model is put that has no place of its own: those the chip starts from, if there are any.
    pub fn usual(&self) -> impl Iterator<Item = &Area> {
        let boots = self.areas.iter().any(|area| area.boot);
        self.areas.iter().filter(move |area| area.boot || !boots)
    }

    pub fn area_at(&self, address: u64) -> Option<&Area> {
        self.areas.iter().find(|area| area.pages.range().contains(&address))
    }

    /// Says how large the flash is behind the window that the chip starts from.
    pub fn limit(&mut self, bytes: u64) -> Result<(), String> {
        let boots = self.areas.iter().any(|area| area.boot);
        let first = self.areas.iter_mut().find(|area| area.boot || !boots);
        let Some(area) = first else { return Ok(()) };
        let most = area.pages.len();
        if bytes > most {
            let most = crate::chips::size::size(most);
            return Err(format!("--flash-size: {} has no more than {most}", self.name));
        }
        area.pages.truncate(bytes);
        Ok(())
    }
}
