//! A file drawn as one line of blocks, each as wide as its share of the bytes.

use console::Style;
use embedded_safetensors::validate::Summary;

/// The characters for Unicode terminals and for others; the first is the header.
const BLOCKS: [char; 5] = ['░', '█', '▓', '▒', '▚'];
const MARKS: [char; 8] = ['.', '#', '=', '+', '*', 'o', '%', '-'];
/// The terminal's colours, one for each kind.
const COLOURS: [Style; 7] = [
    Style::new().dim(),
    Style::new().blue(),
    Style::new().green(),
    Style::new().yellow(),
    Style::new().magenta(),
    Style::new().cyan(),
    Style::new().red(),
];

/// The number of bytes of each kind in each column.
pub struct Picture {
    file_len: u64,
    data_start: u64,
    /// For each kind, its bytes per column, in order of appearance. The first kind is the header.
    kinds: Vec<Vec<u64>>,
    columns: usize,
}

impl Picture {
    pub fn new(summary: &Summary, columns: usize) -> Self {
        let (data_start, file_len) = (summary.data_start, summary.file_len());
        let mut picture = Self { file_len, data_start, kinds: vec![vec![0; columns]], columns };
        picture.cover(0, 0, data_start);
        picture
    }

    /// Adds a tensor of this kind, and its range in the data.
    pub fn add(&mut self, kind: usize, begin: u64, end: u64) {
        while self.kinds.len() < kind + 2 {
            self.kinds.push(vec![0; self.columns]);
        }
        self.cover(kind + 1, self.data_start + begin, self.data_start + end);
    }

    fn cover(&mut self, kind: usize, begin: u64, end: u64) {
        let mut at = begin;
        while at < end {
            let column = self.column_of(at);
            let stop = end.min(self.begin_of(column + 1)).max(at + 1);
            self.kinds[kind][column] += stop - at;
            at = stop;
        }
    }

    fn column_of(&self, at: u64) -> usize {
        let column = u128::from(at) * self.columns as u128 / u128::from(self.file_len.max(1));
        usize::try_from(column).unwrap_or(0).min(self.columns - 1)
    }

    /// The first byte of a column.
    fn begin_of(&self, column: usize) -> u64 {
        let begin = (u128::from(self.file_len) * column as u128).div_ceil(self.columns as u128);
        u64::try_from(begin).unwrap_or(u64::MAX)
    }

    /// One character per column, for the kind with most bytes in it. The header always has the first
    /// column.
    pub fn line(&self, ascii: bool) -> String {
        let mut kind = 0;
        let mut line = block(0, ascii);
        for column in 1..self.columns {
            kind = self.most_in(column).unwrap_or(kind);
            line += &block(kind, ascii);
        }
        line
    }

    /// None if there are more columns than bytes.
    fn most_in(&self, column: usize) -> Option<usize> {
        let kinds = (0..self.kinds.len()).rev().filter(|&kind| self.kinds[kind][column] > 0);
        kinds.max_by_key(|&kind| self.kinds[kind][column])
    }
}

/// The character for a kind; 0 is the header.
pub fn block(kind: usize, ascii: bool) -> String {
    let marks: &[char] = if ascii { &MARKS } else { &BLOCKS };
    // There are more dtypes than marks; the others get letters, of which there are enough.
    let letter = || ('A'..='Z').nth(kind - marks.len()).unwrap_or('?');
    let mark = marks.get(kind).copied().unwrap_or_else(letter);
    COLOURS[kind % COLOURS.len()].apply_to(mark).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Picture, block};
    use embedded_safetensors::validate::Summary;

    #[test]
    fn no_two_of_all_dtypes_look_alike() {
        console::set_colors_enabled(false);
        for ascii in [false, true] {
            let marks: std::collections::BTreeSet<String> = (0..=22).map(|kind| block(kind, ascii)).collect();
            assert_eq!(marks.len(), 23, "{marks:?}");
        }
    }

    fn drawn(header: u64, data: u64, tensors: &[(usize, u64, u64)], columns: usize) -> String {
        console::set_colors_enabled(false);
        let summary = Summary { tensors: 0, data_start: header, data_len: data };
        let mut picture = Picture::new(&summary, columns);
        tensors.iter().for_each(|&(kind, begin, end)| picture.add(kind, begin, end));
        picture.line(true)
    }

    #[test]
    fn blocks_are_as_wide_as_their_bytes() {
        assert_eq!(drawn(20, 80, &[(0, 0, 40), (1, 40, 80)], 10), "..####====");
        assert_eq!(drawn(10, 0, &[], 5), ".....");
        assert_eq!(drawn(1, 999, &[(0, 0, 999)], 5), ".####");
        // A column shows the kind with most bytes in it.
        assert_eq!(drawn(10, 30, &[(0, 0, 2), (1, 2, 12), (0, 12, 30)], 4), ".=##");
        // More columns than bytes are filled.
        assert_eq!(drawn(2, 2, &[(0, 0, 1), (1, 1, 2)], 8), "....##==");
    }
}
