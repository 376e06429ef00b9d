//! Reads numbers and texts anywhere in a file, without reading all of it.

use crate::error::{beyond_limit, unsound};
use crate::proto::{Bytes, Reason};
use crate::source::pieces;
use crate::zip::{Exact, read_full};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;

/// The bytes of a page, and the number of pages in memory.
const PAGE: u64 = 1 << 12;
const PAGES: u64 = 64;
/// The most bytes of a name.
pub const LONGEST_NAME: u64 = 65_535;

/// A file, some of whose pages are in memory.
pub struct Pages<'f> {
    file: &'f File,
    pub len: u64,
    /// Where the page in each place begins, and its bytes.
    pages: RefCell<Vec<(u64, Vec<u8>)>>,
}

impl<'f> Pages<'f> {
    pub fn new(file: &'f File) -> io::Result<Self> {
        let pages = (0..PAGES).map(|_| (u64::MAX, Vec::new())).collect();
        Ok(Self { file, len: file.metadata()?.len(), pages: RefCell::new(pages) })
    }

    /// Returns the range of so many bytes, which the file has.
    pub fn range(&self, at: u64, len: u64) -> io::Result<Range<u64>> {
        let end = at.checked_add(len).filter(|end| *end <= self.len);
        end.map(|end| at..end).ok_or_else(|| {
            let of_file = self.len;
            unsound(format!("byte {at}: {len} bytes needed, but the file ends at byte {of_file}"))
        })
    }

    /// Reads bytes that the file has.
    pub fn fill(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        let Range { start, end } = self.range(at, out.len() as u64)?;
        let (begin, mut pages) = (start - start % PAGE, self.pages.borrow_mut());
        let place = usize::try_from(start / PAGE % PAGES).unwrap_or_default();
        let Some((own, page)) = pages.get_mut(place).filter(|_| end <= begin + PAGE) else {
            return self.read(start, out);
        };
        if *own != begin {
            *own = u64::MAX;
            page.resize(usize::try_from(PAGE.min(self.len - begin)).unwrap_or_default(), 0);
            self.read(begin, page)?;
            *own = begin;
        }
        let from = usize::try_from(start - begin).unwrap_or_default();
        out.copy_from_slice(&page[from..][..out.len()]);
        Ok(())
    }

    fn read(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        let mut source = Exact::new(self.file, at, out.len() as u64);
        read_full(&mut source, out).map(drop)
    }

    /// Reads bytes as they are.
    pub fn bytes<const N: usize>(&self, at: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(at, &mut bytes).map(|()| bytes)
    }

    /// Reads a name.
    pub fn text(&self, Range { start: at, end }: Range<u64>) -> io::Result<String> {
        let len = end - at;
        if len > LONGEST_NAME {
            let sentence = format!("byte {at}: a text has {len} bytes, at most {LONGEST_NAME} are allowed");
            return Err(beyond_limit(sentence));
        }
        let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
        self.fill(at, &mut bytes)?;
        String::from_utf8(bytes).map_err(|_| unsound(format!("byte {at}: a text is not UTF-8")))
    }
}

/// A range of a file's bytes, which the file has.
#[derive(Clone)]
pub struct Span<'p> {
    pub pages: &'p Pages<'p>,
    pub range: Range<u64>,
}

impl Bytes for Span<'_> {
    type Error = io::Error;

    fn left(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn split(&mut self, len: u64) -> Self {
        let begin = self.range.start;
        self.range.start += len;
        Self { pages: self.pages, range: begin..self.range.start }
    }

    fn next(&mut self) -> io::Result<Option<u8>> {
        if self.range.is_empty() {
            return Ok(None);
        }
        let [byte] = self.pages.bytes(self.split(1).range.start)?;
        Ok(Some(byte))
    }

    fn error(&self, reason: Reason) -> io::Error {
        unsound(format!("byte {}: {reason}", self.range.start))
    }
}

/// Takes one of the numbers in a range.
type Take = fn(&mut Span<'_>) -> io::Result<u64>;

/// Returns the lowest bytes of each number in a range.
pub fn numbers(pages: Pages<'_>, mut range: Range<u64>, width: usize, take: Take) -> impl Read {
    pieces(move |out| {
        let mut span = Span { pages: &pages, range: range.clone() };
        while span.left() > 0 && out.len() < 1 << 16 {
            out.extend(&take(&mut span)?.to_le_bytes()[..width]);
        }
        range = span.range;
        Ok(())
    })
}
