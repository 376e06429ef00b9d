//! The chips that probe-rs knows.

use crate::chips::chip::{Area, Chip};
use crate::chips::pages::{Pages, Stretch};
use crate::text::quoted;
use probe_rs::Target;
use probe_rs::config::{FlashProperties, MemoryRange, MemoryRegion, NvmRegion, RawFlashAlgorithm, Registry};
use std::ops::Range;

/// The maximum number of suggested names.
const CHOICES: usize = 12;

/// All names in alphabetical order.
pub fn names(registry: &Registry) -> Vec<String> {
    let chips = registry.families().iter().flat_map(|family| &family.variants);
    let mut names: Vec<String> = chips.flat_map(|chip| chip.package_variants().cloned()).collect();
    names.sort_unstable_by_key(|name| name.to_ascii_lowercase());
    names.dedup();
    names
}

/// The target of this name, or the only one whose name begins with it. An `x` in a chip's name matches any
/// character, and case is ignored.
///
/// # Errors
/// There is none, or there are several, as a sentence.
pub fn find(registry: &Registry, name: &str) -> Result<Target, String> {
    let (names, asked) = (names(registry), quoted(name));
    let alike: Vec<&str> =
        names.iter().map(String::as_str).filter(|known| begins_with(known, name)).collect();
    // Matches by an `x` are all equally good.
    let whole: Vec<&str> = alike.iter().filter(|known| known.len() == name.len()).copied().collect();
    let same = whole.iter().find(|known| known.eq_ignore_ascii_case(name));
    let unknown = || format!("unknown chip {asked}; `safetensors fit --list` lists all");
    match (same, whole.as_slice(), alike.as_slice()) {
        (Some(only), ..) | (_, [only], _) | (_, _, [only]) => {
            registry.get_target_by_name(only).map_err(|_| unknown())
        }
        (_, _, []) => Err(match nearest(&names, name).as_slice() {
            [] => unknown(),
            near => format!("unknown chip {asked}; did you mean {}?", near.join(" or ")),
        }),
        (_, _, several) => {
            let (count, first) = (several.len(), several[..several.len().min(CHOICES)].join(", "));
            let more = if count > CHOICES { ", …" } else { "" };
            Err(format!("chip name {asked} is ambiguous, {count} match: {first}{more}"))
        }
    }
}

/// As probe-rs compares: names have an `x` where packages and temperatures differ.
fn begins_with(candidate: &str, name: &str) -> bool {
    let equal =
        |(known, asked): (char, char)| known.eq_ignore_ascii_case(&asked) || known == 'x' || asked == 'x';
    !name.is_empty() && name.len() <= candidate.len() && candidate.chars().zip(name.chars()).all(equal)
}

fn nearest<'n>(names: &'n [String], name: &str) -> Vec<&'n str> {
    let lower = name.to_ascii_lowercase();
    let alike = |known: &str| strsim::jaro_winkler(&lower, &known.to_ascii_lowercase());
    let rated = names.iter().map(|known| (alike(known), known.as_str()));
    let mut rated: Vec<(f64, &str)> = rated.filter(|(rate, _)| *rate > 0.85).collect();
    rated.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    rated.into_iter().take(3).map(|(_, name)| name).collect()
}

/// The memory of a target.
pub fn chip(target: &Target) -> Chip {
    let flash = target.memory_map.iter().filter_map(MemoryRegion::as_nvm_region);
    let mut flash: Vec<&NvmRegion> = flash.collect();
    flash.sort_by_key(|region| region.range.start);
    let mut chip = Chip { name: target.name.clone(), ram: ram(&target.memory_map), ..Chip::default() };
    for region in flash {
        match area(target, region) {
            Some(area) => join(&mut chip.areas, area),
            None => chip.others.push(region.range.clone()),
        }
    }
    chip
}

/// The longest range. The sum would count aliased memory twice.
fn ram(map: &[MemoryRegion]) -> u64 {
    let regions = map.iter().filter_map(MemoryRegion::as_ram_region);
    let mut ranges: Vec<Range<u64>> = regions.map(|region| region.range.clone()).collect();
    ranges.sort_by_key(|range| range.start);
    let adjacent = ranges.chunk_by(|a, b| a.end == b.start);
    let lengths = adjacent.filter_map(|ranges| Some(ranges.last()?.end - ranges.first()?.start));
    lengths.max().unwrap_or(0)
}

/// Flash that can hold a model: memory-mapped, programmed by one algorithm, and longer than a page. Option
/// bytes and one-time-programmable memory are not.
fn area(target: &Target, region: &NvmRegion) -> Option<Area> {
    let properties = &algorithm(target, region)?.flash_properties;
    let (pages, boot) = (pages(properties, &region.range)?, region.is_boot_memory());
    let is_single = pages.page_at(pages.range().start)? == pages.range();
    // Where erased and programmed units are aligned differently, probe-rs erases what it does not program.
    let unit = u64::from(properties.page_size);
    let is_split = properties.sectors.iter().any(|sector| !sector.size.is_multiple_of(unit));
    let is_shifted = !properties.address_range.start.is_multiple_of(unit);
    let is_usable = !region.is_alias && region.is_readable() && (boot || !is_single);
    is_usable.then(|| Area {
        pages,
        boot,
        unit: unit.max(1),
        erased: properties.erased_byte_value,
        uneven: is_split && is_shifted,
    })
}

/// The algorithm that probe-rs uses for a region.
fn algorithm<'t>(target: &'t Target, region: &NvmRegion) -> Option<&'t RawFlashAlgorithm> {
    let core = region.cores.first()?;
    let fits = |algorithm: &&RawFlashAlgorithm| {
        algorithm.flash_properties.address_range.contains_range(&region.range)
            && (algorithm.cores.is_empty() || algorithm.cores.contains(core))
    };
    let all: Vec<&RawFlashAlgorithm> = target.flash_algorithms.iter().filter(fits).collect();
    let mut defaults = all.iter().filter(|algorithm| algorithm.default);
    match (all.as_slice(), defaults.next(), defaults.next()) {
        ([only], _, _) => Some(only),
        (_, Some(default), None) => Some(default),
        _ => None,
    }
}

/// The pages of a region; none if they are not adjacent. If a write is larger than a page, it counts as the
/// page.
fn pages(properties: &FlashProperties, region: &Range<u64>) -> Option<Pages> {
    let (start, unit) = (properties.address_range.start, u64::from(properties.page_size));
    let begins = properties.sectors.iter().map(|sector| start + sector.address);
    let ends = begins.clone().skip(1).chain([properties.address_range.end]);
    let mut pages = Pages::default();
    for (sector, (begin, end)) in properties.sectors.iter().zip(begins.zip(ends)) {
        let page = (1..=unit).map(|count| count * sector.size).find(|size| size.is_multiple_of(unit));
        let stretch = page.and_then(|page| Stretch { range: begin..end, page }.within(region));
        stretch.map_or(Some(()), |stretch| pages.append(stretch))?;
    }
    Some(pages)
}

/// Merges adjacent areas with the same properties.
fn join(areas: &mut Vec<Area>, area: Area) {
    let properties = |area: &Area| (area.boot, area.unit, area.erased, area.uneven);
    let last = areas.last_mut().filter(|last| properties(last) == properties(&area));
    let mut stretches = area.pages.0.iter().cloned();
    if last.and_then(|last| stretches.try_for_each(|stretch| last.pages.append(stretch))).is_none() {
        areas.push(area);
    }
}

#[cfg(test)]
mod tests {
    use super::{chip, find, names};
    use probe_rs::config::Registry;

    #[test]
    fn chips_are_as_their_manuals_have_them() {
        let registry = Registry::from_builtin_families();
        let stm32 = "0x8000000..0x8080000: 4 pages of 16 KiB and 1 page of 64 KiB and 3 pages of 128 KiB";
        // Names need be no longer than they are clear.
        for (name, areas, unit, ram) in [
            ("STM32F411RET6", stm32, 1024, 128),
            ("nRF52840", "0x0..0x100000: 256 pages of 4 KiB", 4096, 256),
            ("rp2040", "0x10000000..0x18000000: 32768 pages of 4 KiB", 4096, 264),
            // Two banks, one after the other.
            ("STM32H743ZITx", "0x8000000..0x8200000: 16 pages of 128 KiB", 1024, 512),
            // The unit of writing is larger than a page.
            ("STM32L010C6", "0x8000000..0x8008000: 32 pages of 1 KiB", 1024, 8),
        ] {
            let chip = chip(&find(&registry, name).expect("known chip"));
            let told = chip.usual().map(|area| format!("{:#x?}: {}", area.pages.range(), area.pages));
            assert_eq!(told.collect::<Vec<_>>(), [areas]);
            assert_eq!((chip.areas[0].unit, chip.ram >> 10), (unit, ram), "{name}");
        }
        assert!(find(&registry, "").is_err());
    }

    #[test]
    fn no_chip_is_too_odd() {
        let registry = Registry::from_builtin_families();
        let names = names(&registry).into_iter().step_by(89);
        let chips: Vec<_> = names.map(|name| chip(&find(&registry, &name).expect("its name"))).collect();
        for area in chips.iter().flat_map(|chip| &chip.areas) {
            let end = area.pages.range().end;
            assert!(area.pages.page_at(end - 1).is_some_and(|page| page.end == end), "{area:?}");
        }
        assert!(chips.iter().filter(|chip| !chip.areas.is_empty()).count() > 70);
    }
}
