//! Finds free flash for a model.

use crate::chips::chip::{Area, Chip};
use crate::chips::pages::Pages;
use crate::chips::size::span;
use crate::error::Error;
use crate::text::grouped;
use crate::text::number::hex;
use std::ops::Range;

/// The place of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<'c> {
    pub area: &'c Area,
    /// The range of its bytes.
    pub range: Range<u64>,
    /// The range of its pages.
    pub pages: Range<u64>,
}

/// Too little space for a model: the missing bytes, and a sentence with the largest free range.
#[derive(Debug)]
pub struct NoRoom {
    pub missing: u64,
    pub sentence: String,
}

impl<'c> Place<'c> {
    fn new(area: &'c Area, start: u64, bytes: u64) -> Self {
        let range = start..start.saturating_add(bytes);
        Self { area, pages: area.pages.around(&range), range }
    }

    pub fn touched(&self) -> Pages {
        self.area.pages.within(&self.pages)
    }

    /// The unused bytes of its last page.
    pub fn rest(&self) -> u64 {
        self.pages.end - self.range.end.min(self.pages.end)
    }
}

impl Chip {
    /// The highest free place of this size, so that the firmware below can grow.
    pub fn highest(&self, bytes: u64, align: u64) -> Result<Place<'_>, NoRoom> {
        let place = self.usual().find_map(|area| {
            let gaps = self.free(area);
            gaps.iter().rev().find_map(|gap| Some(Place::new(area, start(area, gap, bytes, align)?, bytes)))
        });
        place.ok_or_else(|| self.no_room(bytes))
    }

    /// The place at an address, if the flash there is free and large enough.
    ///
    /// # Errors
    /// The address is not the start of a flash page.
    pub fn at(&self, at: u64, bytes: u64) -> Result<Result<Place<'_>, NoRoom>, Error> {
        let area = self.area_at(at).ok_or_else(|| self.outside(at))?;
        let page = area.pages.page_at(at).unwrap_or(at..at);
        if page.start != at {
            let [at, start, end] = [at, page.start, page.end].map(hex);
            let sentence = format!("{at} is not the start of a page; {start} and {end} are");
            return Err(Error::usage(sentence));
        }
        let place = Place::new(area, at, bytes);
        let end = area.pages.range().end;
        let missing = place.range.end.saturating_sub(end);
        if missing > 0 {
            let (need, past) = (grouped(bytes), grouped(missing));
            let (at, end) = (hex(at), hex(end));
            let sentence = format!("{need} bytes at {at} end {past} bytes past the end of flash at {end}");
            return Ok(Err(NoRoom { missing, sentence }));
        }
        let is_over = |used: &&Range<u64>| used.start < place.pages.end && place.pages.start < used.end;
        match self.used.iter().find(is_over) {
            Some(used) => {
                let missing = used.end.min(place.pages.end) - used.start.max(place.pages.start);
                let (pages, bytes) = (span(&place.pages), grouped(missing));
                let sentence =
                    format!("its pages {pages} overlap {bytes} bytes of the firmware at {}", span(used));
                Ok(Err(NoRoom { missing, sentence }))
            }
            None => Ok(Ok(place)),
        }
    }

    /// The free flash below a place.
    pub fn free_below(&self, place: &Place<'_>) -> u64 {
        let start = place.pages.start;
        self.free(place.area).iter().find(|gap| gap.contains(&start)).map_or(0, |gap| start - gap.start)
    }

    /// The free flash of an area in complete pages.
    fn free(&self, area: &Area) -> Vec<Range<u64>> {
        let is_free =
            |page: &Range<u64>| self.used.iter().all(|used| used.end <= page.start || page.end <= used.start);
        let pages: Vec<Range<u64>> = area.pages.each().filter(is_free).collect();
        let gaps = pages.chunk_by(|one, next| one.end == next.start);
        gaps.filter_map(|gap| Some(gap.first()?.start..gap.last()?.end)).collect()
    }

    fn no_room(&self, bytes: u64) -> NoRoom {
        let gaps = self.usual().flat_map(|area| self.free(area));
        let largest = gaps.max_by_key(|gap| gap.end - gap.start).unwrap_or(0..0);
        let room = largest.end - largest.start;
        let missing = bytes.saturating_sub(room);
        let (need, range) = (grouped(bytes), span(&largest));
        let sentence = match (room, missing) {
            (0, _) => format!("{need} bytes needed, no page of flash is free"),
            (_, 0) => format!("{need} bytes fit into {range}, but not at the required alignment"),
            _ => format!(
                "{need} bytes needed, {} more than the largest free range: {} bytes at {range}",
                grouped(missing),
                grouped(room)
            ),
        };
        NoRoom { missing, sentence }
    }

    fn outside(&self, at: u64) -> Error {
        let (address, name, flash) = (hex(at), &self.name, self.ranges());
        Error::usage(match self.others.iter().any(|other| other.contains(&at)) {
            true => {
                format!("{address} is in a memory region of {name} that is not for data; flash is at {flash}")
            }
            false => format!("{address} is outside of the flash of {name} at {flash}"),
        })
    }
}

/// The highest page start in a range where this many bytes fit.
fn start(area: &Area, gap: &Range<u64>, bytes: u64, align: u64) -> Option<u64> {
    let mut highest = gap.end.checked_sub(bytes)?;
    loop {
        let page = area.pages.page_at(highest)?.start;
        if page < gap.start {
            return None;
        }
        if page.is_multiple_of(align) {
            return Some(page);
        }
        highest = page - page % align;
    }
}

#[cfg(test)]
mod tests {
    use crate::chips::chip::Chip;
    use std::ops::Range;

    const KIB: u64 = 1024;

    fn chip(used: &[Range<u64>]) -> Chip {
        Chip { used: used.to_vec(), ..Chip::stm32f411(0) }
    }

    fn highest(chip: &Chip, bytes: u64, align: u64) -> Option<u64> {
        let place = chip.highest(bytes, align).ok()?;
        assert!(place.range.end <= place.pages.end && place.range.start == place.pages.start);
        Some(place.range.start / KIB)
    }

    #[test]
    fn the_highest_page_from_which_it_fits_is_proposed() {
        let firmware = [0..100 * KIB, 511 * KIB..512 * KIB];
        for (used, bytes, align, place) in [
            (&[][..], 1, 1, Some(384)),
            (&[], 128 * KIB, 1, Some(384)),
            (&[], 128 * KIB + 1, 1, Some(256)),
            (&[], 449 * KIB, 1, Some(48)),
            (&[], 512 * KIB, 1, Some(0)),
            (&[], 512 * KIB + 1, 1, None),
            (&[], KIB, 256 * KIB, Some(256)),
            (&[0..KIB], 300 * KIB, 256 * KIB, None),
            // Pages with firmware in them are not touched.
            (&firmware, 128 * KIB, 1, Some(256)),
            (&firmware, 256 * KIB, 1, Some(128)),
            (&firmware, 256 * KIB + 1, 1, None),
        ] {
            assert_eq!(highest(&chip(used), bytes, align), place, "{bytes} beside {used:?}");
        }
        let chip = chip(&firmware);
        let place = chip.highest(1, 1).expect("room");
        assert_eq!((chip.free_below(&place), place.rest()), (128 * KIB, 128 * KIB - 1));
    }

    #[test]
    fn data_flash_is_used_only_where_the_chip_does_not_start_from_any() {
        let (mut chip, mut data) = (chip(&[]), Chip::stm32f411(1 << 20).areas);
        data[0].boot = false;
        chip.areas.append(&mut data);
        assert_eq!(highest(&chip, KIB, 1), Some(384));
        chip.areas.remove(0);
        assert_eq!(highest(&chip, KIB, 1), Some(1024 + 384));
    }
}
