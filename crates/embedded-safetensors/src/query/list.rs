//! Shows all tensors of a header to a visitor.

use crate::error::Error;
use crate::header::progress::{Machine, Progress};
use crate::header::{Entries, Entry, HeaderParser, Item};

/// Follows one pass over a header and shows every tensor to a visitor.
pub(crate) struct List<'n, F> {
    entries: Entries<'n>,
    visitor: F,
}

impl<'n, F: FnMut(&Entry<'_>)> List<'n, F> {
    pub(crate) const fn new(name: &'n mut [u8], visitor: F) -> Self {
        Self { entries: Entries::new(name), visitor }
    }
}

impl<F: FnMut(&Entry<'_>)> Machine for List<'_, F> {
    fn push(&mut self, input: &mut &[u8]) -> Option<Progress> {
        loop {
            match self.entries.next(input).ok()? {
                Item::NeedInput => return Some(Progress::NeedInput),
                Item::HeaderEnd => return Some(Progress::Done),
                Item::Tensor(entry) => (self.visitor)(&entry),
            }
        }
    }

    fn parser(&mut self) -> &mut HeaderParser {
        &mut self.entries.parser
    }

    fn failure(&mut self) -> Error {
        self.entries.error()
    }
}
