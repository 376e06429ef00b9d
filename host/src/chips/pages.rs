//! Flash pages, the units of erasing. Some manuals call them sectors, and some chips have pages of several
//! sizes.

use crate::chips::size::size;
use std::ops::Range;

/// Consecutive pages of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub range: Range<u64>,
    pub page: u64,
}

impl Run {
    /// The complete pages in a range, counted from an address where a page begins.
    pub fn new(origin: u64, page: u64, range: &Range<u64>) -> Option<Self> {
        let start = origin + range.start.checked_sub(origin)?.next_multiple_of(page);
        let pages = range.end.checked_sub(start)? / page;
        (pages > 0).then(|| Self { range: start..start + pages * page, page })
    }

    fn page_at(&self, address: u64) -> Option<Range<u64>> {
        let inside = self.range.contains(&address).then(|| address - self.range.start)?;
        let start = address - inside % self.page;
        Some(start..start + self.page)
    }

    /// The number of pages that a range touches.
    fn touched(&self, range: &Range<u64>) -> u64 {
        let (start, end) = (range.start.max(self.range.start), range.end.min(self.range.end));
        if start >= end {
            return 0;
        }
        (end - self.range.start).div_ceil(self.page) - (start - self.range.start) / self.page
    }
}

/// Contiguous flash: pages in address order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    runs: Vec<Run>,
}

impl Pages {
    /// Appends pages if they are adjacent.
    pub fn append(&mut self, run: Run) -> Result<(), Run> {
        match self.runs.last_mut() {
            Some(last) if last.range.end != run.range.start => return Err(run),
            Some(last) if last.page == run.page => last.range.end = run.range.end,
            _ => self.runs.push(run),
        }
        Ok(())
    }

    /// Appends adjacent pages.
    pub fn extend(&mut self, next: Self) {
        for run in next.runs {
            let appended = self.append(run);
            debug_assert!(appended.is_ok(), "not adjacent");
        }
    }

    pub fn range(&self) -> Range<u64> {
        match (self.runs.first(), self.runs.last()) {
            (Some(first), Some(last)) => first.range.start..last.range.end,
            _ => 0..0,
        }
    }

    pub fn len(&self) -> u64 {
        let Range { start, end } = self.range();
        end - start
    }

    /// The page of an address.
    pub fn page_at(&self, address: u64) -> Option<Range<u64>> {
        self.runs.iter().find_map(|run| run.page_at(address))
    }

    /// The complete pages that a range touches. Parts outside are ignored.
    pub fn around(&self, range: &Range<u64>) -> Range<u64> {
        let Range { start, end } = self.range();
        let (start, end) = (range.start.clamp(start, end), range.end.clamp(start, end));
        let first = self.page_at(start).map_or(start, |page| page.start);
        match end.checked_sub(1).and_then(|last| self.page_at(last)) {
            Some(last) if start < end => first..last.end,
            _ => first..first,
        }
    }

    /// The number of pages of each size that a range touches.
    pub fn touched(&self, range: &Range<u64>) -> Vec<(u64, u64)> {
        let counts = self.runs.iter().map(|run| (run.touched(range), run.page));
        counts.filter(|&(count, _)| count > 0).collect()
    }

    /// The pages that a range touches, one by one.
    pub fn each(&self, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let around = self.around(range);
        let first = (!around.is_empty()).then_some(around.start).and_then(|start| self.page_at(start));
        std::iter::successors(first, move |page| {
            (page.end < around.end).then(|| self.page_at(page.end)).flatten()
        })
    }

    /// Removes the pages after this many bytes.
    pub fn truncate(&mut self, bytes: u64) {
        let Range { start, .. } = self.range();
        let kept = start..start.saturating_add(bytes);
        let cut = |run: &Run| {
            let end = run.range.end.min(kept.end);
            Run::new(run.range.start, run.page, &(run.range.start..end.max(run.range.start)))
        };
        self.runs = self.runs.iter().filter_map(cut).collect();
    }
}

/// "2 pages of 16 KiB and 1 page of 64 KiB"
pub fn counted(pages: &[(u64, u64)]) -> String {
    let each = pages.iter().map(|&(count, page)| {
        let pages = if count == 1 { "page" } else { "pages" };
        format!("{count} {pages} of {}", size(page))
    });
    each.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::{Pages, Run, counted};

    /// Four pages of 16 KiB, one of 64, three of 128, as in an STM32F411.
    fn unequal() -> Pages {
        let mut pages = Pages::default();
        for (range, page) in [(0..64, 16), (64..128, 64), (128..512, 128)] {
            pages.append(Run { range, page }).expect("adjacent pages");
        }
        pages
    }

    #[test]
    fn a_page_is_found_by_any_address_in_it() {
        let pages = unequal();
        for (address, page) in [(0, 0..16), (15, 0..16), (16, 16..32), (127, 64..128), (511, 384..512)] {
            assert_eq!(pages.page_at(address), Some(page));
        }
        assert_eq!(pages.page_at(512), None);
    }

    #[test]
    fn a_range_touches_whole_pages() {
        let pages = unequal();
        for (range, around, touched) in [
            (20..21, 16..32, vec![(1, 16)]),
            (15..65, 0..128, vec![(4, 16), (1, 64)]),
            (48..129, 48..256, vec![(1, 16), (1, 64), (1, 128)]),
            (500..9999, 384..512, vec![(1, 128)]),
            (32..32, 32..32, vec![]),
            (600..700, 512..512, vec![]),
        ] {
            assert_eq!((pages.around(&range), pages.touched(&range)), (around, touched), "{range:?}");
        }
    }

    #[test]
    fn the_pages_of_a_range_come_one_by_one() {
        let pages = unequal();
        assert_eq!(pages.each(&(40..130)).collect::<Vec<_>>(), [32..48, 48..64, 64..128, 128..256]);
        assert_eq!(pages.each(&(5..5)).count(), 0);
        assert_eq!(pages.each(&(600..700)).count(), 0);
    }

    #[test]
    fn only_whole_pages_count() {
        assert_eq!(Run::new(0, 16, &(8..72)), Some(Run { range: 16..64, page: 16 }));
        assert_eq!(Run::new(0, 16, &(8..31)), None);
        assert_eq!(Run::new(100, 16, &(8..31)), None);
        let mut pages = unequal();
        pages.truncate(100);
        assert_eq!((pages.range(), pages.len()), (0..64, 64));
    }

    #[test]
    fn neighbours_of_one_size_are_one_run_and_holes_are_refused() {
        let mut pages = Pages::default();
        pages.append(Run { range: 0..32, page: 16 }).expect("first pages");
        pages.append(Run { range: 32..64, page: 16 }).expect("adjacent pages");
        assert_eq!(pages.touched(&(0..64)), [(4, 16)]);
        assert!(pages.append(Run { range: 80..96, page: 16 }).is_err());
    }

    #[test]
    fn pages_are_counted_in_words() {
        assert_eq!(counted(&[(15, 4096)]), "15 pages of 4 KiB");
        assert_eq!(counted(&[(1, 65536), (2, 131_072)]), "1 page of 64 KiB and 2 pages of 128 KiB");
    }
}
