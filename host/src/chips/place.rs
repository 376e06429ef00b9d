//! Where in flash a model has room.

use crate::chips::chip::{Area, Chip};
use crate::chips::size::{grouped, span};
use crate::number::hex;
use std::ops::Range;

/// Where a model lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<'c> {
    pub area: &'c Area,
    /// Of its bytes.
    pub range: Range<u64>,
    /// Of the pages that it touches.
    pub pages: Range<u64>,
}

/// Why a model does not lie there.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no room: how many bytes are missing, and where there is most.
    NoRoom { missing: u64, sentence: String },
    /// The address that is asked for is none for a model.
    Address(String),
}

impl<'c> Place<'c> {
    fn new(area: &'c Area, start: u64, bytes: u64) -> Self {
        let range = start..start.saturating_add(bytes);
        Self { area, pages: area.pages.around(&range), range }
    }

    /// How many pages of which size it touches.
    pub fn touched(&self) -> Vec<(u64, u64)> {
        self.area.pages.touched(&self.pages)
    }

    /// The flash below it that nothing is in.
    pub fn free_below(&self, used: &[Range<u64>]) -> u64 {
        let free = free(self.area, used);
        let below =
            free.iter().find(|range| range.contains(&self.pages.start) || range.end == self.pages.start);
        below.map_or(0, |range| self.pages.start - range.start)
    }

    /// What it leaves of its last page.
    pub fn rest(&self) -> u64 {
        self.pages.end - self.range.end.min(self.pages.end)
    }
}

/// The flash of an area that nothing is in, in whole pages.
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

/// The highest place for so many bytes, so that the firmware below can grow.
///
/// # Errors
/// There is none.
pub fn highest<'c>(
    chip: &'c Chip,
    used: &[Range<u64>],
    bytes: u64,
    align: u64,
) -> Result<Place<'c>, Refusal> {
    let mut areas: Vec<&Area> = chip.usual().collect();
    // The first is what the chip starts from; of several, the end of the first is as good as any.
    areas.sort_by_key(|area| !area.boot);
    let place = areas.iter().find_map(|area| {
        let gaps = free(area, used);
        gaps.iter().rev().find_map(|gap| Some(Place::new(area, start(area, gap, bytes, align)?, bytes)))
    });
    place.ok_or_else(|| no_room(chip, used, bytes))
}

/// The highest beginning of a page in a range from which so many bytes fit.
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

fn no_room(chip: &Chip, used: &[Range<u64>], bytes: u64) -> Refusal {
    let gaps = chip.usual().flat_map(|area| free(area, used));
    let largest = gaps.max_by_key(|gap| gap.end - gap.start).unwrap_or(0..0);
    let room = largest.end - largest.start;
    let missing = bytes.saturating_sub(room);
    let need = grouped(bytes);
    let sentence = match (room, missing) {
        (0, _) => format!("{need} bytes, and no page of flash is free"),
        (_, 0) => format!("{need} bytes would fit into {}, but at no such multiple", span(&largest)),
        _ => format!(
            "{need} bytes are {} more than the largest free range has: {} bytes at {}",
            grouped(missing),
            grouped(room),
            span(&largest)
        ),
    };
    Refusal::NoRoom { missing, sentence }
}

/// The place at an address.
///
/// # Errors
/// It is not the beginning of a page of flash, or something is in the way.
pub fn at<'c>(chip: &'c Chip, used: &[Range<u64>], at: u64, bytes: u64) -> Result<Place<'c>, Refusal> {
    let area = chip.area_at(at).ok_or_else(|| Refusal::Address(outside(chip, at)))?;
    let page = area.pages.page_at(at).unwrap_or(at..at);
    if page.start != at {
        return Err(Refusal::Address(format!(
            "{} is not where a page begins: {} and {} are",
            hex(at),
            hex(page.start),
            hex(page.end)
        )));
    }
    let place = Place::new(area, at, bytes.max(1));
    let end = area.pages.range().end;
    if let Some(missing) = place.range.end.checked_sub(end).filter(|&missing| missing > 0) {
        let (need, missing_text, end) = (grouped(bytes), grouped(missing), hex(end));
        let sentence = format!(
            "{need} bytes at {} end {missing_text} bytes behind the flash, which ends at {end}",
            hex(at)
        );
        return Err(Refusal::NoRoom { missing, sentence });
    }
    match used.iter().find(|used| used.start < place.pages.end && place.pages.start < used.end) {
        Some(used) => Err(in_the_way(&place, used)),
        None => Ok(Place::new(area, at, bytes)),
    }
}

fn outside(chip: &Chip, at: u64) -> String {
    let flash: Vec<String> = chip.areas.iter().map(|area| span(&area.pages.range())).collect();
    let flash = flash.join(", ");
    let (at_text, name) = (hex(at), &chip.name);
    if chip.others.iter().any(|other| other.contains(&at)) {
        return format!("{at_text} is in memory of {name} that is not for data; its flash is at {flash}");
    }
    format!("{at_text} is not in the flash of {name}, which is at {flash}")
}

fn in_the_way(place: &Place<'_>, used: &Range<u64>) -> Refusal {
    let overlap = used.start.max(place.pages.start)..used.end.min(place.pages.end);
    let sentence = format!(
        "its pages {} hold {} bytes of the firmware, which is at {}",
        span(&place.pages),
        grouped(overlap.end - overlap.start),
        span(used)
    );
    Refusal::NoRoom { missing: overlap.end - overlap.start, sentence }
}

#[cfg(test)]
mod tests {
    use super::{Refusal, at, free, highest};
    use crate::chips::chip::{Area, Chip};
    use crate::chips::pages::{Pages, Run};
    use std::ops::Range;

    const KIB: u64 = 1024;

    fn area(runs: &[(Range<u64>, u64)], boot: bool) -> Area {
        let mut pages = Pages::default();
        for (range, page) in runs {
            let range = range.start * KIB..range.end * KIB;
            pages.append(Run { range, page: page * KIB }).expect("no hole");
        }
        Area { pages, boot, unit: 1024, erased: 0xff, uneven: false }
    }

    fn chip(areas: Vec<Area>) -> Chip {
        Chip { name: "chip".into(), areas, others: vec![1 << 30..(1 << 30) + 528], ram: 0 }
    }

    /// An STM32F411 with 512 KiB, at 0.
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
        let Err(Refusal::NoRoom { missing, sentence }) = highest(&chip, &[0..KIB], 500 * KIB, 1) else {
            panic!("it fits")
        };
        assert_eq!(missing, 4 * KIB);
        assert_eq!(
            sentence,
            "512,000 bytes are 4,096 more than the largest free range has: 507,904 bytes at 0x00004000..0x00080000"
        );
    }

    #[test]
    fn an_address_is_judged() {
        let chip = unequal();
        let used = [0..20 * KIB];
        let said = |address, bytes| match at(&chip, &used, address, bytes) {
            Ok(place) => format!("{}", place.pages.end - place.pages.start),
            Err(Refusal::Address(sentence)) => format!("2: {sentence}"),
            Err(Refusal::NoRoom { sentence, .. }) => format!("1: {sentence}"),
        };
        assert_eq!(said(64 * KIB, 70 * KIB), (192 * KIB).to_string());
        assert_eq!(said(64 * KIB, 0), "0");
        for (address, bytes, sentence) in [
            (1 << 20, 1, "2: 0x00100000 is not in the flash of chip, which is at 0x00000000..0x00080000"),
            (
                1 << 30,
                1,
                "2: 0x40000000 is in memory of chip that is not for data; its flash is at 0x00000000..0x00080000",
            ),
            (65 * KIB, 1, "2: 0x00010400 is not where a page begins: 0x00010000 and 0x00020000 are"),
            (
                384 * KIB,
                129 * KIB,
                "1: 132,096 bytes at 0x00060000 end 1,024 bytes behind the flash, which ends at 0x00080000",
            ),
            (
                16 * KIB,
                1,
                "1: its pages 0x00004000..0x00008000 hold 4,096 bytes of the firmware, which is at 0x00000000..0x00005000",
            ),
        ] {
            assert_eq!(said(address, bytes), sentence);
        }
        assert!(said(u64::MAX - 5, 100).starts_with("2: "));
    }
}
