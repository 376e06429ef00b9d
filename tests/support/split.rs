//! Ways to cut a file into the pieces in which it arrives.

/// How a file arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// In pieces of so many bytes; the last one may be shorter. At least one byte.
    Every(usize),
    /// In two pieces, the second one beginning at this byte.
    Once(usize),
    /// In three pieces, the second and the third one beginning at these bytes.
    Twice(usize, usize),
}

impl Split {
    /// The whole file at once.
    pub const WHOLE: Self = Self::Once(0);

    /// The pieces of the file, some of them empty where a cut is at an end.
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
