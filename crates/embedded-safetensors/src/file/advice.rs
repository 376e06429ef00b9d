//! Advice to the system about how a map will be read.

use memmap2::Mmap;
use std::io;

/// How a mapped model will be read. The system can use it to decide how far to read ahead.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// No advice: the system reads a little ahead.
    #[default]
    Normal,
    /// From front to back: the system reads far ahead, and may soon drop the pages that have been read.
    Sequential,
    /// At random, such as the rows of an embedding: the system does not read ahead.
    Random,
    /// All of it, soon: the system begins to read all of it.
    WillNeed,
}

impl Advice {
    pub(super) fn give(self, map: &Mmap) -> io::Result<()> {
        self.give_of(map, 0, map.len())
    }

    /// Gives the advice for the pages of these bytes.
    #[cfg(unix)]
    pub(super) fn give_of(self, map: &Mmap, begin: usize, len: usize) -> io::Result<()> {
        let advice = match self {
            Self::Normal => memmap2::Advice::Normal,
            Self::Sequential => memmap2::Advice::Sequential,
            Self::Random => memmap2::Advice::Random,
            Self::WillNeed => memmap2::Advice::WillNeed,
        };
        map.advise_range(advice, begin, len)
    }

    /// Does nothing: Windows has no such call.
    #[cfg(windows)]
    pub(super) fn give_of(self, _: &Mmap, _: usize, _: usize) -> io::Result<()> {
        Ok(())
    }
}
