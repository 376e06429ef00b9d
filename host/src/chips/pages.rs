//! Flash pages, the units of erasing. Some manuals call them sectors, and some chips have pages of several
//! sizes.

use crate::chips::size::size;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// Consecutive pages of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub range: Range<u64>,
    pub page: u64,
}

impl Stretch {
    /// The pages that are completely in a range.
    pub fn within(&self, range: &Range<u64>) -> Option<Self> {
        let Self { range: Range { start, end }, page } = *self;
        let first = start + (range.start.max(start) - start).next_multiple_of(page);
        let pages = range.end.min(end).checked_sub(first)? / page;
        (pages > 0).then(|| Self { range: first..first + pages * page, page })
    }

    pub fn count(&self) -> u64 {
        (self.range.end - self.range.start) / self.page
    }
}

/// Contiguous flash: pages in address order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages(pub Vec<Stretch>);

impl Pages {
    /// Appends pages; `None` if they are not adjacent.
    pub fn append(&mut self, stretch: Stretch) -> Option<()> {
        match self.0.last_mut() {
            Some(last) if last.range.end != stretch.range.start => return None,
            Some(last) if last.page == stretch.page => last.range.end = stretch.range.end,
            _ => self.0.push(stretch),
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
        let stretch = self.0.iter().find(|stretch| stretch.range.contains(&address))?;
        let start = address - (address - stretch.range.start) % stretch.page;
        Some(start..start + stretch.page)
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
        Self(self.0.iter().filter_map(|stretch| stretch.within(range)).collect())
    }

    /// All pages, one by one.
    pub fn each(&self) -> impl Iterator<Item = Range<u64>> {
        let pages = |stretch: &Stretch| {
            let (start, page) = (stretch.range.start, stretch.page);
            (0..stretch.count()).map(move |index| start + index * page..start + (index + 1) * page)
        };
        self.0.iter().flat_map(pages)
    }
}

/// "2 pages of 16 KiB"
impl Display for Stretch {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let pages = if self.count() == 1 { "page" } else { "pages" };
        write!(out, "{} {pages} of {}", self.count(), size(self.page))
    }
}

/// "2 pages of 16 KiB and 1 page of 64 KiB"
impl Display for Pages {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.iter().map(Stretch::to_string).collect::<Vec<_>>().join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::Stretch;
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
        let stretch = |range, page| Stretch { range, page };
        assert_eq!(stretch(0..100, 16).within(&(8..72)), Some(stretch(16..64, 16)));
        assert_eq!(stretch(0..100, 16).within(&(8..31)), None);
        assert_eq!(stretch(100..200, 16).within(&(8..31)), None);
    }
}
