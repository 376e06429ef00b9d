//! Ways to cut a file into the pieces in which it arrives.

/// How a file arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// In pieces of this many bytes, at least one; the last piece may be shorter.
    Every(usize),
    /// In two pieces; the second begins at this byte.
    Once(usize),
    /// In three pieces; the second and the third begin at these bytes.
    Twice(usize, usize),
}

impl Split {
    /// The entire file at once.
    pub const WHOLE: Self = Self::Once(0);

    /// Returns the pieces of the file; some are empty where a cut is at an end.
    pub fn pieces(self, file: &[u8]) -> impl Iterator<Item = &[u8]> {
        let (first, second, size) = match self {
            Self::Every(size) => (0, 0, size),
            Self::Once(first) => (first, first, file.len()),
            Self::Twice(first, second) => (first, second, file.len()),
        };
        let (head, rest) = file.split_at(first);
        let (middle, tail) = rest.split_at(second - first);
        [head, middle].into_iter().chain(tail.chunks(size.max(1)))
    }
}
