//! Finds free flash for a model.

use crate::chips::chip::{Area, Chip};
use crate::chips::size::{grouped, span};
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

/// The reason why a model does not fit.
#[derive(Debug, PartialEq, Eq)]
pub enum PlacementError {
    /// Too little space: the missing bytes, and a sentence with the largest free range.
    NoRoom { missing: u64, sentence: String },
    /// The requested address is unsuitable.
    Address(String),
}

impl<'c> Place<'c> {
    fn new(area: &'c Area, start: u64, bytes: u64) -> Self {
        let range = start..start.saturating_add(bytes);
        Self { area, pages: area.pages.around(&range), range }
    }

    /// The number of pages of each size that it touches.
    pub fn touched(&self) -> Vec<(u64, u64)> {
        self.area.pages.touched(&self.pages)
    }

    /// The free flash below it.
    pub fn free_below(&self, used: &[Range<u64>]) -> u64 {
        let free = free(self.area, used);
        let below =
            free.iter().find(|range| range.contains(&self.pages.start) || range.end == self.pages.start);
        below.map_or(0, |range| self.pages.start - range.start)
    }

    /// The unused bytes of its last page.
    pub fn rest(&self) -> u64 {
        self.pages.end - self.range.end.min(self.pages.end)
    }
}

/// The free flash of an area in complete pages.
pub fn free(area: &Area, used: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut taken: Vec<Range<u64>> = used.iter().map(|range| area.pages.around(range)).collect();
    taken.retain(|range| !range.is_empty());
    taken.sort_by_key(|range| range.start);
    let Range { start: mut from, end } = area.pages.range();
    let mut free = Vec::new();
    for range in taken.into_iter().chain(std::iter::once(end..end)) {
        if from < range.start {
            free.push(from..range.start);
        }
        from = from.max(range.end);
    }
    free
}

/// The highest free place of this size, so that the firmware below can grow.
///
/// # Errors
/// There is none.
pub fn highest<'c>(
    chip: &'c Chip,
    used: &[Range<u64>],
    bytes: u64,
    align: u64,
) -> Result<Place<'c>, PlacementError> {
    let mut areas: Vec<&Area> = chip.usual().collect();
    // Boot areas first; the end of any of them will do.
    areas.sort_by_key(|area| !area.boot);
    let place = areas.iter().find_map(|area| {
        let gaps = free(area, used);
        gaps.iter().rev().find_map(|gap| Some(Place::new(area, start(area, gap, bytes, align)?, bytes)))
    });
    place.ok_or_else(|| no_room(chip, used, bytes))
}

/// The highest page start in a range where this many bytes fit.
fn start(area: &Area, gap: &Range<u64>, bytes: u64, align: u64) -> Option<u64> {
    let mut highest = gap.end.checked_sub(bytes.max(1))?;
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

fn no_room(chip: &Chip, used: &[Range<u64>], bytes: u64) -> PlacementError {
    let gaps = chip.usual().flat_map(|area| free(area, used));
    let largest = gaps.max_by_key(|gap| gap.end - gap.start).unwrap_or(0..0);
    let room = largest.end - largest.start;
    let missing = bytes.saturating_sub(room);
    let need = grouped(bytes);
    let sentence = match (room, missing) {
        (0, _) => format!("{need} bytes needed, no page of flash is free"),
        (_, 0) => format!("{need} bytes fit into {}, but not at the required alignment", span(&largest)),
        _ => format!(
            "{need} bytes needed, {} more than the largest free range: {} bytes at {}",
            grouped(missing),
            grouped(room),
            span(&largest)
        ),
    };
    PlacementError::NoRoom { missing, sentence }
}

/// The place at an address.
///
/// # Errors
/// The address is not the start of a flash page, or the flash there is in use.
pub fn at<'c>(chip: &'c Chip, used: &[Range<u64>], at: u64, bytes: u64) -> Result<Place<'c>, PlacementError> {
    let area = chip.area_at(at).ok_or_else(|| PlacementError::Address(outside(chip, at)))?;
    let page = area.pages.page_at(at).unwrap_or(at..at);
    if page.start != at {
        return Err(PlacementError::Address(format!(
            "{} is not the start of a page; {} and {} are",
            hex(at),
            hex(page.start),
            hex(page.end)
        )));
    }
    let place = Place::new(area, at, bytes.max(1));
    let end = area.pages.range().end;
    if let Some(missing) = place.range.end.checked_sub(end).filter(|&missing| missing > 0) {
        let (need, missing_text, end) = (grouped(bytes), grouped(missing), hex(end));
        let sentence =
            format!("{need} bytes at {} end {missing_text} bytes past the end of flash at {end}", hex(at));
        return Err(PlacementError::NoRoom { missing, sentence });
    }
    match used.iter().find(|used| used.start < place.pages.end && place.pages.start < used.end) {
        Some(used) => Err(overlap_error(&place, used)),
        None => Ok(Place::new(area, at, bytes)),
    }
}

fn outside(chip: &Chip, at: u64) -> String {
    let flash: Vec<String> = chip.areas.iter().map(|area| span(&area.pages.range())).collect();
    let flash = flash.join(", ");
    let (at_text, name) = (hex(at), &chip.name);
    if chip.others.iter().any(|other| other.contains(&at)) {
        return format!(
            "{at_text} is in a memory region of {name} that is not for data; flash is at {flash}"
        );
    }
    format!("{at_text} is outside of the flash of {name} at {flash}")
}

fn overlap_error(place: &Place<'_>, used: &Range<u64>) -> PlacementError {
    let overlap = used.start.max(place.pages.start)..used.end.min(place.pages.end);
    let sentence = format!(
        "its pages {} overlap {} bytes of the firmware at {}",
        span(&place.pages),
        grouped(overlap.end - overlap.start),
        span(used)
    );
    PlacementError::NoRoom { missing: overlap.end - overlap.start, sentence }
}

#[cfg(test)]
mod tests {
    use super::{PlacementError, at, free, highest};
    use crate::chips::chip::{Area, Chip};
    use crate::chips::pages::{Pages, Run};
    use std::ops::Range;

    const KIB: u64 = 1024;

    fn area(runs: &[(Range<u64>, u64)], boot: bool) -> Area {
        let mut pages = Pages::default();
        for (range, page) in runs {
            let range = range.start * KIB..range.end * KIB;
            pages.append(Run { range, page: page * KIB }).expect("adjacent pages");
        }
        Area { pages, boot, unit: 1024, erased: 0xff, uneven: false }
    }

    fn chip(areas: Vec<Area>) -> Chip {
        Chip { name: "chip".into(), areas, others: vec![1 << 30..(1 << 30) + 528], ram: 0 }
    }

    /// An STM32F411 with 512 KiB, at address 0.
    fn unequal() -> Chip {
        chip(vec![area(&[(0..64, 16), (64..128, 64), (128..512, 128)], true)])
    }

    fn start(chip: &Chip, used: &[Range<u64>], bytes: u64, align: u64) -> Option<u64> {
        let place = highest(chip, used, bytes, align).ok()?;
        assert!(place.range.end <= place.pages.end && place.range.start == place.pages.start);
        Some(place.range.start / KIB)
    }

    #[test]
    fn the_highest_page_from_which_it_fits_is_proposed() {
        let chip = unequal();
        for (bytes, place) in [(0, 384), (1, 384), (128 * KIB, 384), (128 * KIB + 1, 256), (449 * KIB, 48)] {
            assert_eq!(start(&chip, &[], bytes, 1), Some(place), "{bytes}");
        }
        assert_eq!(start(&chip, &[], 512 * KIB, 1), Some(0));
        assert_eq!(start(&chip, &[], 512 * KIB + 1, 1), None);
    }

    #[test]
    fn pages_with_firmware_in_them_are_not_touched() {
        let chip = unequal();
        let firmware = [0..100 * KIB, 511 * KIB..512 * KIB];
        assert_eq!(free(&chip.areas[0], &firmware), [128 * KIB..384 * KIB]);
        assert_eq!(start(&chip, &firmware, 128 * KIB, 1), Some(256));
        assert_eq!(start(&chip, &firmware, 256 * KIB, 1), Some(128));
        assert_eq!(start(&chip, &firmware, 256 * KIB + 1, 1), None);
        let place = highest(&chip, &firmware, 1, 1).expect("room");
        assert_eq!((place.free_below(&firmware), place.rest()), (128 * KIB, 128 * KIB - 1));
    }

    #[test]
    fn a_multiple_may_be_asked_for() {
        let chip = unequal();
        assert_eq!(start(&chip, &[], KIB, 256 * KIB), Some(256));
        assert_eq!(start(&chip, &[0..KIB], 300 * KIB, 256 * KIB), None);
    }

    #[test]
    fn data_flash_is_used_only_where_the_chip_does_not_start_from_any() {
        let (boot, data) = (area(&[(0..16, 4)], true), area(&[(1024..1056, 4)], false));
        assert_eq!(start(&chip(vec![boot, data.clone()]), &[], 20 * KIB, 1), None);
        assert_eq!(start(&chip(vec![data]), &[], 20 * KIB, 1), Some(1036));
    }

    #[test]
    fn what_is_missing_is_told() {
        let chip = unequal();
        let Err(PlacementError::NoRoom { missing, sentence }) = highest(&chip, &[0..KIB], 500 * KIB, 1)
        else {
            panic!("fits")
        };
        assert_eq!(missing, 4 * KIB);
        assert_eq!(
            sentence,
            "512,000 bytes needed, 4,096 more than the largest free range: 507,904 bytes at \
             0x00004000..0x00080000"
        );
    }

    #[test]
    fn an_address_is_judged() {
        let chip = unequal();
        let used = [0..20 * KIB];
        let said = |address, bytes| match at(&chip, &used, address, bytes) {
            Ok(place) => format!("{}", place.pages.end - place.pages.start),
            Err(PlacementError::Address(sentence)) => format!("2: {sentence}"),
            Err(PlacementError::NoRoom { sentence, .. }) => format!("1: {sentence}"),
        };
        assert_eq!(said(64 * KIB, 70 * KIB), (192 * KIB).to_string());
        assert_eq!(said(64 * KIB, 0), "0");
        for (address, bytes, sentence) in [
            (1 << 20, 1, "2: 0x00100000 is outside of the flash of chip at 0x00000000..0x00080000"),
            (
                1 << 30,
                1,
                "2: 0x40000000 is in a memory region of chip that is not for data; flash is at 0x00000000..0x00080000",
            ),
            (65 * KIB, 1, "2: 0x00010400 is not the start of a page; 0x00010000 and 0x00020000 are"),
            (
                384 * KIB,
                129 * KIB,
                "1: 132,096 bytes at 0x00060000 end 1,024 bytes past the end of flash at 0x00080000",
            ),
            (
                16 * KIB,
                1,
                "1: its pages 0x00004000..0x00008000 overlap 4,096 bytes of the firmware at \
                 0x00000000..0x00005000",
            ),
        ] {
            assert_eq!(said(address, bytes), sentence);
        }
        assert!(said(u64::MAX - 5, 100).starts_with("2: "));
    }
}
