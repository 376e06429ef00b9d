//! Tables for people.

use crate::text::terminal::terminal_width;
use crate::text::{columns, fitted, grouped};
use std::io::{self, Write};

/// The alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// The width of the first column to which shorter cells are padded at most: one long name should not move
/// all other rows.
const FIRST: usize = 80;

/// The width of names for which shapes are shortened.
const USUAL: usize = 24;

/// The width of whole names for which a terminal of this width does without optional columns: a cut can make
/// names of tensors alike.
fn names_of(terminal: usize) -> usize {
    USUAL.max(terminal / 3 * 2)
}

/// A number in a cell: with separators on a terminal, and plain for other programs.
pub fn number(number: impl Into<u128>) -> String {
    let number = number.into();
    if terminal_width().is_some() { grouped(number) } else { number.to_string() }
}

/// A title and the alignment below it.
pub type Column = (&'static str, Side);

/// Rows of text that is safe to print, all of one length.
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    fit: Option<(usize, &'static [&'static str])>,
}

impl Table {
    /// Creates a table with these titles and alignments.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), fit: None }
    }

    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Makes the table as narrow as a terminal. Does without optional columns, in this order, as long as
    /// whole names do not fit; then shortens texts in the middle: in the widest column of them, such as
    /// shapes, and in the first one. At last it does without the last columns.
    pub fn fit(&mut self, width: usize, optional: &'static [&'static str]) {
        self.fit = Some((width, optional));
    }

    /// Prints it with an indent of two columns and two between columns.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.print_rows(|| self.rows.iter(), out)
    }

    /// Prints rows that are made twice, to find the widths and to print: they may be too long for memory.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print_rows<R: Iterator<Item: AsRef<[String]>>>(
        &self,
        rows: impl Fn() -> R,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let titles: Vec<String> = self.columns.iter().map(|(title, _)| (*title).to_owned()).collect();
        let mut layout = Layout {
            columns: &self.columns,
            widths: vec![0; titles.len()],
            shown: vec![true; titles.len()],
            longest: if self.fit.is_some() { usize::MAX } else { FIRST },
        };
        layout.widen(&titles);
        rows().for_each(|row| layout.widen(row.as_ref()));
        if let Some((width, optional)) = self.fit {
            layout.fit(width, optional);
        }
        layout.print(&titles, out)?;
        rows().try_for_each(|row| layout.print(row.as_ref(), out))
    }
}

/// The widths of columns.
struct Layout<'t> {
    columns: &'t [Column],
    widths: Vec<usize>,
    shown: Vec<bool>,
    /// Longer names do not make the first column wider.
    longest: usize,
}

impl Layout<'_> {
    fn widen(&mut self, row: &[String]) {
        for (column, (width, cell)) in self.widths.iter_mut().zip(row).enumerate() {
            let needed = columns(cell);
            if column > 0 || needed <= self.longest {
                *width = needed.max(*width);
            }
        }
    }

    fn fit(&mut self, width: usize, optional: &[&str]) {
        const LEAST: usize = 12;
        let name = self.widths[0];
        let is_text = |column: &usize| self.columns[*column].1 == Side::Left && self.shown[*column];
        let text = (1..self.widths.len()).filter(is_text).max_by_key(|column| self.widths[*column]);
        let spare = text.map_or(0, |column| self.widths[column].saturating_sub(LEAST));
        for title in optional {
            if self.others() - spare + name.min(names_of(width)) + 2 > width {
                self.shown.iter_mut().zip(self.columns).for_each(|(shown, of)| *shown &= of.0 != *title);
            }
        }
        if let Some(column) = text {
            let over = (self.others() + name.min(USUAL) + 2).saturating_sub(width);
            self.widths[column] -= over.min(spare);
        }
        for column in (2..self.widths.len()).rev() {
            self.shown[column] &= self.others() + name.min(LEAST) + 2 <= width;
        }
        self.widths[0] = name.min(width.saturating_sub(self.others() + 2).max(1));
    }

    /// The width of all columns that are shown, but the first.
    fn others(&self) -> usize {
        let shown = self.widths.iter().zip(&self.shown).skip(1).filter(|(_, shown)| **shown);
        shown.map(|(width, _)| width + 2).sum()
    }

    fn print(&self, row: &[String], out: &mut impl Write) -> io::Result<()> {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate().filter(|(column, _)| self.shown[*column]) {
            let (width, is_cut) = (self.widths[column], self.longest == usize::MAX);
            let cell = if is_cut { &fitted(cell, width) } else { cell };
            let padding = " ".repeat(width.saturating_sub(columns(cell)));
            let (before, after) = match self.columns[column].1 {
                Side::Left => ("", &*padding),
                Side::Right => (&*padding, ""),
            };
            line.extend(["  ", before, cell, after]);
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// A line that is broken after commas where it does not fit a terminal, if there is one.
pub fn wrapped(line: &str, terminal: Option<usize>) -> String {
    let Some(width) = terminal else { return line.to_owned() };
    let (mut text, mut used) = (String::new(), 0);
    for part in line.split_inclusive(", ") {
        if used > 0 && used + columns(part.trim_end()) > width {
            text.truncate(text.trim_end().len());
            text.push_str("\n    ");
            used = 4;
        }
        text.push_str(part);
        used += columns(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Column, Side, Table, wrapped};

    #[test]
    fn lines_are_broken_after_commas() {
        let line = "  total: 3 tensors, 4 values, 5 zeros";
        assert_eq!(wrapped(line, None), line);
        assert_eq!(wrapped(line, Some(80)), line);
        assert_eq!(wrapped(line, Some(24)), "  total: 3 tensors,\n    4 values, 5 zeros");
        assert_eq!(wrapped(line, Some(10)), "  total: 3 tensors,\n    4 values,\n    5 zeros");
    }

    const COLUMNS: [Column; 3] = [("name", Side::Left), ("shape", Side::Left), ("bytes", Side::Right)];

    fn printed<const N: usize>(
        columns: [Column; N],
        rows: &[[&str; N]],
        fit: Option<(usize, &'static [&'static str])>,
    ) -> String {
        let (mut table, mut out) = (Table::new(columns), Vec::new());
        rows.iter().for_each(|row| table.push(row.map(str::to_owned)));
        table.fit = fit;
        table.print(&mut out).expect("writing to a Vec");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn shapes_are_cut_and_the_last_columns_left_out() {
        let shape = format!("{:?}", [1; 20]);
        let table = |width| printed(COLUMNS, &[["weight", &shape, "12"]], Some((width, &[])));
        assert_eq!(
            table(40),
            "  name    shape                    bytes\n  weight  [1, 1, 1, 1…1, 1, 1, 1]     12\n"
        );
        assert_eq!(table(24), "  name    shape\n  weight  [1, 1,…1, 1]\n");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_text() {
        let [name, _, bytes] = COLUMNS;
        let text = printed([name, bytes], &[["層", "1234567"], ["weight", "8"]], None);
        assert_eq!(text, "  name      bytes\n  層      1234567\n  weight        8\n");
        let long = "n".repeat(100);
        let text = printed([name, bytes], &[[&long, "12"]], None);
        assert_eq!(text, format!("  name  bytes\n  {long}     12\n"));
    }

    #[test]
    fn a_table_does_without_columns_and_shortens_names_to_fit() {
        let rows = [["model.layers.0.attention.weight", "[4]", "12"]];
        let text = printed(COLUMNS, &rows, Some((33, &["no column", "shape", "bytes"])));
        assert_eq!(text, "  name                      bytes\n  model.layers…tion.weight     12\n");
    }
}
