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
    /// The pages that are completely in a range.
    pub fn within(&self, range: &Range<u64>) -> Option<Self> {
        let Self { range: Range { start, end }, page } = *self;
        let first = start + (range.start.max(start) - start).next_multiple_of(page);
        let pages = range.end.min(end).checked_sub(first)? / page;
        (pages > 0).then(|| Self { range: first..first + pages * page, page })
    }

    /// The number of pages.
    pub fn count(&self) -> u64 {
        (self.range.end - self.range.start) / self.page
    }
}

/// Contiguous flash: pages in address order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages(pub Vec<Run>);

impl Pages {
    /// Appends pages; `None` if they are not adjacent.
    pub fn append(&mut self, run: Run) -> Option<()> {
        match self.0.last_mut() {
            Some(last) if last.range.end != run.range.start => return None,
            Some(last) if last.page == run.page => last.range.end = run.range.end,
            _ => self.0.push(run),
        }
        Some(())
    }

    pub fn range(&self) -> Range<u64> {
        match (self.0.first(), self.0.last()) {
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
        let run = self.0.iter().find(|run| run.range.contains(&address))?;
        let start = address - (address - run.range.start) % run.page;
        Some(start..start + run.page)
    }

    /// The range of the pages that a range touches. Parts outside are ignored.
    pub fn around(&self, range: &Range<u64>) -> Range<u64> {
        let Range { start, end } = self.range();
        let (start, end) = (range.start.clamp(start, end), range.end.clamp(start, end));
        let first = self.page_at(start).map_or(start, |page| page.start);
        match end.checked_sub(1).and_then(|last| self.page_at(last)) {
            Some(last) if start < end => first..last.end,
            _ => first..first,
        }
    }

    /// The pages that are completely in a range.
    pub fn within(&self, range: &Range<u64>) -> Self {
        Self(self.0.iter().filter_map(|run| run.within(range)).collect())
    }

    /// All pages, one by one.
    pub fn each(&self) -> impl Iterator<Item = Range<u64>> {
        let pages = |run: &Run| {
            let (start, page) = (run.range.start, run.page);
            (0..run.count()).map(move |index| start + index * page..start + (index + 1) * page)
        };
        self.0.iter().flat_map(pages)
    }
}

/// "2 pages of 16 KiB and 1 page of 64 KiB"
pub fn in_words(runs: &[Run]) -> String {
    let each = runs.iter().map(|run| {
        let pages = if run.count() == 1 { "page" } else { "pages" };
        format!("{} {pages} of {}", run.count(), size(run.page))
    });
    each.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::Run;
    use crate::chips::chip::Chip;

    #[test]
    fn a_range_touches_whole_pages() {
        let pages = &Chip::stm32f411(0).areas[0].pages;
        for (range, around, each) in [
            (20..21, 16..32, vec![16..32]),
            (15..65, 0..128, vec![0..16, 16..32, 32..48, 48..64, 64..128]),
            (48..129, 48..256, vec![48..64, 64..128, 128..256]),
            (500..9999, 384..512, vec![384..512]),
            (32..32, 32..32, vec![]),
            (600..700, 512..512, vec![]),
        ] {
            let touched = pages.around(&(range.start << 10..range.end << 10));
            let inside = pages.within(&touched);
            let all = inside.each().map(|page| page.start >> 10..page.end >> 10);
            assert_eq!((touched.start >> 10..touched.end >> 10, all.collect()), (around, each), "{range:?}");
        }
    }

    #[test]
    fn only_whole_pages_count() {
        let run = |range, page| Run { range, page };
        assert_eq!(run(0..100, 16).within(&(8..72)), Some(run(16..64, 16)));
        assert_eq!(run(0..100, 16).within(&(8..31)), None);
        assert_eq!(run(100..200, 16).within(&(8..31)), None);
    }
}
