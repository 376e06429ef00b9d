//! Tables for people.

use crate::text::columns;
use std::io::{self, Write};

/// The alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// Rows of text that is safe to print, all of one length.
pub struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these titles and alignments.
    pub fn new<const N: usize>(titles: [(&str, Side); N]) -> Self {
        let row = titles.map(|(title, _)| title.to_owned()).to_vec();
        Self { sides: titles.map(|(_, side)| side).to_vec(), rows: vec![row] }
    }

    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    /// Prints it with an indent of two columns and two between columns.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let widths = self.widths();
        self.rows.iter().try_for_each(|row| {
            let cells = row
                .iter()
                .zip(&widths)
                .zip(&self.sides)
                .map(|((cell, width), side)| fit(cell, *width, *side));
            let line: Vec<String> = cells.collect();
            writeln!(out, "  {}", line.join("  ").trim_end())
        })
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| columns(cell)).max().unwrap_or(0)
        };
        (0..self.sides.len()).map(width).collect()
    }
}

fn fit(cell: &str, width: usize, side: Side) -> String {
    let padding = " ".repeat(width.saturating_sub(columns(cell)));
    match side {
        Side::Left => format!("{cell}{padding}"),
        Side::Right => format!("{padding}{cell}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Side, Table};

    #[test]
    fn columns_are_as_wide_as_their_widest_text() {
        let mut table = Table::new([("name", Side::Left), ("bytes", Side::Right)]);
        table.push(["層".into(), "1234567".into()]);
        table.push(["weight".into(), "8".into()]);
        let mut out = Vec::new();
        table.print(&mut out).expect("writing to a Vec");
        let text = String::from_utf8(out).expect("UTF-8");
        assert_eq!(text, "  name      bytes\n  層      1234567\n  weight        8\n");
    }
}
