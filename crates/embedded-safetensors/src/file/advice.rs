//! What the system is told of how a map is going to be read.

use memmap2::Mmap;
use std::io;

/// How a mapped model is going to be read, which the system may take into account when it reads ahead.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// Nothing is known: the system reads a little ahead.
    #[default]
    Normal,
    /// From front to end: it reads far ahead, and may drop soon what has been read.
    Sequential,
    /// Here and there, such as the rows of an embedding: it does not read ahead.
    Random,
    /// All of it, soon: it begins to read all of it.
    WillNeed,
}

impl Advice {
    pub(super) fn give(self, map: &Mmap) -> io::Result<()> {
        self.give_of(map, 0, map.len())
    }

    /// Of the pages on which these bytes lie.
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

    /// Windows reads ahead as it likes.
    #[cfg(windows)]
    pub(super) fn give_of(self, _: &Mmap, _: usize, _: usize) -> io::Result<()> {
        Ok(())
    }
}
