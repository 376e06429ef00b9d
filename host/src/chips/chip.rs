//! The properties of a chip that matter for models.

use crate::chips::pages::Pages;
use crate::chips::size::{size, span};
use std::ops::Range;

/// The largest internal flash of a chip. A larger range is a window to external flash of unknown size.
const LARGEST_INSIDE: u64 = 16 << 20;

/// The memory of a chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chip {
    pub name: String,
    /// Programmable flash in address order.
    pub areas: Vec<Area>,
    /// Other nonvolatile memory, for error messages.
    pub others: Vec<Range<u64>>,
    /// The longest range of RAM in bytes.
    pub ram: u64,
    pub used: Vec<Range<u64>>,
    /// Whether the size of external flash is given.
    pub is_sized: bool,
}

/// Contiguous flash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

impl Chip {
    /// The areas for models without an explicit address: the boot areas, if any.
    pub fn usual(&self) -> impl Iterator<Item = &Area> {
        let boots = self.areas.iter().any(|area| area.boot);
        self.areas.iter().filter(move |area| area.boot || !boots)
    }

    pub fn area_at(&self, address: u64) -> Option<&Area> {
        self.areas.iter().find(|area| area.pages.range().contains(&address))
    }

    /// A usual area that is a window to external flash of unknown size.
    pub fn window(&self) -> Option<&Area> {
        self.usual().find(|area| !self.is_sized && area.pages.len() > LARGEST_INSIDE)
    }

    /// Sets the size of the flash behind the boot window.
    pub fn limit(&mut self, bytes: u64) -> Result<(), String> {
        let boots = self.areas.iter().any(|area| area.boot);
        self.is_sized = true;
        let Some(area) = self.areas.iter_mut().find(|area| area.boot || !boots) else { return Ok(()) };
        let Range { start, end } = area.pages.range();
        if bytes > end - start {
            return Err(format!("--flash-size: {} has at most {}", self.name, size(end - start)));
        }
        area.pages = area.pages.within(&(start..start + bytes));
        Ok(())
    }

    /// An STM32F411: four pages of 16 KiB, one of 64 KiB, three of 128 KiB.
    #[cfg(test)]
    pub fn stm32f411(start: u64) -> Self {
        let mut pages = Pages::default();
        for (begin, end, page) in [(0, 64, 16), (64, 128, 64), (128, 512, 128)] {
            let range = start + (begin << 10)..start + (end << 10);
            pages.append(crate::chips::pages::Stretch { range, page: page << 10 }).expect("adjacent pages");
        }
        let area = Area { pages, boot: true, unit: 1024, erased: 0xff, uneven: false };
        Self { areas: vec![area], ..Self::default() }
    }

    /// The ranges of its flash, for error messages.
    pub fn ranges(&self) -> String {
        self.areas.iter().map(|area| span(&area.pages.range())).collect::<Vec<_>>().join(", ")
    }
}
