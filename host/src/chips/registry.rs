//! The chips that probe-rs knows.

use crate::chips::chip::{Area, Chip};
use crate::chips::pages::{Pages, Run};
use probe_rs::Target;
use probe_rs::config::{FlashProperties, MemoryRange, MemoryRegion, NvmRegion, RawFlashAlgorithm, Registry};
use std::ops::Range;

/// The maximum number of suggested names.
const CHOICES: usize = 12;

/// The reason why a name does not identify a chip.
#[derive(Debug)]
pub enum Unknown {
    /// There is no such chip; these names are similar.
    None(Vec<String>),
    /// Several chips with different memory have names that begin with this: their number, and the first
    /// names.
    Several(usize, Vec<String>),
}

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
/// There is none, or there are several.
pub fn find(registry: &Registry, name: &str) -> Result<Target, Unknown> {
    let names = names(registry);
    let alike: Vec<&String> = names.iter().filter(|candidate| begins_with(candidate, name)).collect();
    // Matches by an `x` are all equally good.
    let whole: Vec<&&String> = alike.iter().filter(|candidate| candidate.len() == name.len()).collect();
    let same = whole.iter().find(|candidate| candidate.eq_ignore_ascii_case(name)).copied();
    let exact = same.or(if let [only] = whole[..] { Some(only) } else { None });
    match (exact, alike.as_slice()) {
        (Some(exact), _) | (None, [exact]) => {
            registry.get_target_by_name(exact).map_err(|_| Unknown::None(Vec::new()))
        }
        (None, []) => Err(Unknown::None(nearest(&names, name))),
        (None, several) => {
            let first = several.iter().take(CHOICES).map(|&name| name.clone());
            Err(Unknown::Several(several.len(), first.collect()))
        }
    }
}

/// As probe-rs compares: names have an `x` where packages and temperatures differ.
fn begins_with(candidate: &str, name: &str) -> bool {
    let equal =
        |(known, asked): (char, char)| known.eq_ignore_ascii_case(&asked) || known == 'x' || asked == 'x';
    !name.is_empty() && name.len() <= candidate.len() && candidate.chars().zip(name.chars()).all(equal)
}

fn nearest(names: &[String], name: &str) -> Vec<String> {
    let lower = name.to_ascii_lowercase();
    let alike = |candidate: &String| strsim::jaro_winkler(&lower, &candidate.to_ascii_lowercase());
    let mut rated: Vec<(f64, &String)> = names.iter().map(|name| (alike(name), name)).collect();
    rated.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    rated.iter().take_while(|(rate, _)| *rate > 0.85).take(3).map(|(_, name)| (*name).clone()).collect()
}

/// The memory of a target.
pub fn chip(target: &Target) -> Chip {
    let mut flash: Vec<&NvmRegion> =
        target.memory_map.iter().filter_map(MemoryRegion::as_nvm_region).collect();
    flash.sort_by_key(|region| region.range.start);
    let mut chip = Chip {
        name: target.name.clone(),
        areas: Vec::new(),
        others: Vec::new(),
        ram: ram(&target.memory_map),
    };
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
    let regions = map.iter().filter_map(MemoryRegion::as_ram_region).cloned();
    let mut ranges: Vec<Range<u64>> = regions.map(|region| region.range).collect();
    ranges.sort_by_key(|range| range.start);
    let erase_ranges = ranges.chunk_by(|a, b| a.end == b.start);
    let lengths = erase_ranges.filter_map(|stretch| Some(stretch.last()?.end - stretch.first()?.start));
    lengths.max().unwrap_or(0)
}

/// Flash that can hold a model: memory-mapped, programmed by one algorithm, and longer than a page. Option
/// bytes and one-time-programmable memory are not.
fn area(target: &Target, region: &NvmRegion) -> Option<Area> {
    let algorithm = algorithm(target, region)?;
    let properties = &algorithm.flash_properties;
    let runs = runs(properties, &region.range);
    let boot = region.is_boot_memory();
    let mut pages = Pages::default();
    for run in runs {
        pages.append(run).ok()?;
    }
    let range = pages.range();
    let usable = !region.is_alias && region.is_readable() && !range.is_empty();
    let single = pages.page_at(range.start).is_some_and(|page| page == range);
    (usable && (boot || !single)).then(|| Area {
        pages,
        boot,
        unit: u64::from(properties.page_size).max(1),
        erased: properties.erased_byte_value,
        uneven: is_uneven(properties),
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

/// The pages of a region. If a write is larger than a page, it counts as the page.
fn runs(properties: &FlashProperties, region: &Range<u64>) -> Vec<Run> {
    let start = properties.address_range.start;
    let sectors = &properties.sectors;
    let begins = sectors.iter().map(|sector| start + sector.address);
    let ends = begins.clone().skip(1).chain([properties.address_range.end]);
    let runs = sectors.iter().zip(begins.zip(ends)).filter_map(|(sector, (begin, end))| {
        let page = common_multiple(sector.size, u64::from(properties.page_size))?;
        Run::new(begin, page, &(region.start.max(begin)..region.end.min(end)))
    });
    runs.collect()
}

fn common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut high, mut low) = (a, b);
    while low != 0 {
        (high, low) = (low, high % low);
    }
    a.checked_div(high)?.checked_mul(b)
}

/// Whether probe-rs aligns erased and programmed units differently, and so erases flash that it does not
/// program.
fn is_uneven(properties: &FlashProperties) -> bool {
    let unit = u64::from(properties.page_size);
    let split = properties.sectors.iter().any(|sector| !sector.size.is_multiple_of(unit));
    split && !properties.address_range.start.is_multiple_of(unit)
}

/// Merges adjacent areas with the same properties.
fn join(areas: &mut Vec<Area>, area: Area) {
    if let Some(last) = areas.last_mut()
        && (last.boot, last.unit, last.erased, last.uneven)
            == (area.boot, area.unit, area.erased, area.uneven)
        && last.pages.range().end == area.pages.range().start
    {
        return last.pages.extend(area.pages);
    }
    areas.push(area);
}

#[cfg(test)]
mod tests {
    use super::{Unknown, chip, find, names};
    use crate::chips::chip::Chip;
    use crate::chips::pages::counted;
    use probe_rs::config::Registry;

    fn chip_of(name: &str) -> Chip {
        chip(&find(&Registry::from_builtin_families(), name).expect("known chip"))
    }

    /// The range of each area for models, its pages, the write unit, and the chip's RAM.
    fn told(name: &str) -> (Vec<String>, u64, u64) {
        let chip = chip_of(name);
        let areas = chip.usual().map(|area| {
            let range = area.pages.range();
            format!("{:x}..{:x}: {}", range.start, range.end, counted(&area.pages.touched(&range)))
        });
        (areas.collect(), chip.areas[0].unit, chip.ram >> 10)
    }

    #[test]
    fn chips_are_as_their_manuals_have_them() {
        let stm32 = "8000000..8080000: 4 pages of 16 KiB and 1 page of 64 KiB and 3 pages of 128 KiB";
        assert_eq!(told("STM32F411RETx"), (vec![stm32.to_owned()], 1024, 128));
        assert_eq!(told("nRF52840_xxAA"), (vec!["0..100000: 256 pages of 4 KiB".to_owned()], 4096, 256));
        assert_eq!(told("RP2040").0, ["10000000..18000000: 32768 pages of 4 KiB"]);
        assert_eq!(told("RP2040").2, 264);
    }

    #[test]
    fn banks_one_behind_the_other_are_one_area() {
        assert_eq!(told("STM32H743ZITx").0, ["8000000..8200000: 16 pages of 128 KiB"]);
    }

    #[test]
    fn memory_that_is_written_once_is_no_flash() {
        for (name, other) in [("STM32F411RETx", 0x1fff_7800), ("nRF52840_xxAA", 0x1000_1000)] {
            let chip = chip_of(name);
            assert!(chip.others.iter().any(|range| range.start == other), "{name}");
            assert!(chip.area_at(other).is_none(), "{name}");
        }
    }

    #[test]
    fn a_page_is_what_is_written_where_that_is_more_than_what_is_erased() {
        let (areas, unit, _) = told("STM32L010C6");
        assert_eq!(
            (areas.as_slice(), unit),
            (["8000000..8008000: 32 pages of 1 KiB".to_owned()].as_slice(), 1024)
        );
    }

    #[test]
    fn no_chip_is_too_odd() {
        let registry = Registry::from_builtin_families();
        let mut with_flash = 0;
        for name in names(&registry).into_iter().step_by(89) {
            let Ok(target) = find(&registry, &name) else { panic!("{name}") };
            let chip = chip(&target);
            for area in &chip.areas {
                let range = area.pages.range();
                assert!(
                    area.pages.page_at(range.end - 1).is_some_and(|page| page.end == range.end),
                    "{name}"
                );
            }
            with_flash += u32::from(!chip.areas.is_empty());
        }
        assert!(with_flash > 70, "{with_flash}");
    }

    #[test]
    fn names_need_be_no_longer_than_they_are_clear() {
        let registry = Registry::from_builtin_families();
        assert_eq!(find(&registry, "stm32f411retx").expect("case").name, "STM32F411RETx");
        assert_eq!(find(&registry, "STM32F411RET6").expect("known package").name, "STM32F411RETx");
        assert_eq!(find(&registry, "nRF52840").expect("known prefix").name, "nRF52840_xxAA");
        let Err(Unknown::Several(count, first)) = find(&registry, "STM32F411") else { panic!("one") };
        assert!(count == 16 && first.len() == 12, "{count} {first:?}");
        let Err(Unknown::None(near)) = find(&registry, "nRF52480_xxAA") else { panic!("known") };
        assert!(near.contains(&"nRF52840_xxAA".to_owned()), "{near:?}");
        assert!(matches!(find(&registry, ""), Err(Unknown::None(_))));
        assert!(matches!(find(&registry, "zzzzzz"), Err(Unknown::None(near)) if near.is_empty()));
    }
}
