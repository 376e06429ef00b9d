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

/// Rows of text that is safe to print, all of one length. On a terminal, no row is wider than it.
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    optional: &'static [&'static str],
}

impl Table {
    /// Creates a table with these titles and alignments.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), optional: &[] }
    }

    /// Names the columns that a terminal does without, in this order, as long as whole names do not fit. They
    /// are never cut, as other texts are.
    pub fn optional(self, optional: &'static [&'static str]) -> Self {
        Self { optional, ..self }
    }

    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints it with an indent of two columns and two between columns.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.print_rows(|| self.rows.iter(), out).map(drop)
    }

    /// Prints rows that are made twice, to find the widths and to print: they may be too long for memory.
    /// Returns which columns are shown.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print_rows<R: Iterator<Item: AsRef<[String]>>>(
        &self,
        rows: impl Fn() -> R,
        out: &mut impl Write,
    ) -> io::Result<Vec<bool>> {
        self.print_on(terminal_width(), rows, out)
    }

    fn print_on<R: Iterator<Item: AsRef<[String]>>>(
        &self,
        terminal: Option<usize>,
        rows: impl Fn() -> R,
        out: &mut impl Write,
    ) -> io::Result<Vec<bool>> {
        let titles: Vec<String> = self.columns.iter().map(|(title, _)| (*title).to_owned()).collect();
        let (widths, shown) = (vec![0; titles.len()], vec![true; titles.len()]);
        let mut layout = Layout { table: self, is_cut: terminal.is_some(), widths, shown };
        layout.widen(&titles);
        rows().for_each(|row| layout.widen(row.as_ref()));
        if let Some(width) = terminal {
            layout.fit(width);
        }
        layout.print(&titles, out)?;
        rows().try_for_each(|row| layout.print(row.as_ref(), out))?;
        Ok(layout.shown)
    }
}

/// The widths of columns.
struct Layout<'t> {
    table: &'t Table,
    /// Whether cells are cut, because there is a terminal.
    is_cut: bool,
    widths: Vec<usize>,
    shown: Vec<bool>,
}

impl Layout<'_> {
    fn widen(&mut self, row: &[String]) {
        for (column, (width, cell)) in self.widths.iter_mut().zip(row).enumerate() {
            let needed = columns(cell);
            if column > 0 || needed <= FIRST || self.is_cut {
                *width = needed.max(*width);
            }
        }
    }

    /// Does without optional columns, then shortens texts, such as shapes, and names. At last it does without
    /// the last columns.
    fn fit(&mut self, terminal: usize) {
        const LEAST: usize = 12;
        let (name, columns) = (self.widths[0], &self.table.columns);
        for title in self.table.optional {
            if self.others(USUAL) + name.min(names_of(terminal)) + 2 > terminal {
                self.shown.iter_mut().zip(columns).for_each(|(shown, of)| *shown &= of.0 != *title);
            }
        }
        let fits = |longest: &usize| self.others(*longest) + name.min(USUAL) + 2 <= terminal;
        let longest = (LEAST..terminal).rev().find(fits).unwrap_or(LEAST);
        self.widths = (0..columns.len()).map(|column| self.width(column, longest)).collect();
        for column in (2..columns.len()).rev() {
            self.shown[column] &= self.others(longest) + name.min(LEAST) + 2 <= terminal;
        }
        self.widths[0] = name.min(terminal.saturating_sub(self.others(longest) + 2).max(1));
    }

    /// The width of all columns that are shown, but the first, if no text is longer than this.
    fn others(&self, longest: usize) -> usize {
        let shown = (1..self.widths.len()).filter(|column| self.shown[*column]);
        shown.map(|column| self.width(column, longest) + 2).sum()
    }

    fn width(&self, column: usize, longest: usize) -> usize {
        let (title, side) = self.table.columns[column];
        let is_text = side == Side::Left && !self.table.optional.contains(&title);
        if is_text { self.widths[column].min(longest) } else { self.widths[column] }
    }

    fn print(&self, row: &[String], out: &mut impl Write) -> io::Result<()> {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate().filter(|(column, _)| self.shown[*column]) {
            let width = self.widths[column];
            let cell = if self.is_cut { &fitted(cell, width) } else { cell };
            let padding = " ".repeat(width.saturating_sub(columns(cell)));
            let (before, after) = match self.table.columns[column].1 {
                Side::Left => ("", &*padding),
                Side::Right => (&*padding, ""),
            };
            line.extend(["  ", before, cell, after]);
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// A line that is broken after separators where it does not fit a terminal, if there is one.
pub fn wrapped(line: &str, separator: &str, terminal: Option<usize>) -> String {
    let Some(width) = terminal else { return line.to_owned() };
    let (mut text, mut used) = (String::new(), 0);
    for part in line.split_inclusive(separator) {
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
        let wrapped = |terminal| wrapped(line, ", ", terminal);
        assert_eq!(wrapped(None), line);
        assert_eq!(wrapped(Some(80)), line);
        assert_eq!(wrapped(Some(24)), "  total: 3 tensors,\n    4 values, 5 zeros");
        assert_eq!(wrapped(Some(10)), "  total: 3 tensors,\n    4 values,\n    5 zeros");
    }

    const COLUMNS: [Column; 3] = [("name", Side::Left), ("shape", Side::Left), ("bytes", Side::Right)];

    fn printed<const N: usize>(
        columns: [Column; N],
        rows: &[[&str; N]],
        terminal: Option<usize>,
        optional: &'static [&'static str],
    ) -> String {
        let (mut table, mut out) = (Table::new(columns).optional(optional), Vec::new());
        rows.iter().for_each(|row| table.push(row.map(str::to_owned)));
        table.print_on(terminal, || table.rows.iter(), &mut out).expect("writing to a Vec");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn shapes_are_cut_and_the_last_columns_left_out() {
        let shape = format!("{:?}", [1; 20]);
        let table = |width, optional| printed(COLUMNS, &[["weight", &shape, "12"]], Some(width), optional);
        assert_eq!(
            table(40, &[]),
            "  name    shape                    bytes\n  weight  [1, 1, 1, 1…1, 1, 1, 1]     12\n"
        );
        assert_eq!(table(24, &[]), "  name    shape\n  weight  [1, 1,…1, 1]\n");
        assert_eq!(table(40, &["shape"]), "  name    bytes\n  weight     12\n");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_text() {
        let [name, _, bytes] = COLUMNS;
        let text = printed([name, bytes], &[["層", "1234567"], ["weight", "8"]], None, &[]);
        assert_eq!(text, "  name      bytes\n  層      1234567\n  weight        8\n");
        let long = "n".repeat(100);
        let text = printed([name, bytes], &[[&long, "12"]], None, &[]);
        assert_eq!(text, format!("  name  bytes\n  {long}     12\n"));
    }

    #[test]
    fn a_table_does_without_columns_and_shortens_names_to_fit() {
        let rows = [["model.layers.0.attention.weight", "[4]", "12"]];
        let text = printed(COLUMNS, &rows, Some(33), &["no column", "shape", "bytes"]);
        assert_eq!(text, "  name                      bytes\n  model.layers.0…on.weight     12\n");
    }
}
