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
pub const USUAL: usize = 24;

/// The width of whole names for which a terminal of this width does without optional columns: a cut can make
/// names of tensors alike.
pub fn names_of(terminal: usize) -> usize {
    USUAL.max(terminal / 3 * 2)
}

/// A number in a cell: with separators on a terminal, and plain for other programs.
pub fn number(number: impl Into<u128>) -> String {
    let number = number.into();
    if terminal_width().is_some() { grouped(number) } else { number.to_string() }
}

/// Rows of text that is safe to print, all of one length.
pub struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
    /// The width to which the first column is padded at most.
    first: usize,
}

impl Table {
    /// Creates a table with these titles and alignments.
    pub fn new<const N: usize>(titles: [(&str, Side); N]) -> Self {
        let row = titles.map(|(title, _)| title.to_owned()).to_vec();
        Self { sides: titles.map(|(_, side)| side).to_vec(), rows: vec![row], first: FIRST }
    }

    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    /// Whether there is no row but the titles.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// Removes a column by its title, if there is one.
    pub fn remove(&mut self, title: &str) {
        if let Some(column) = self.rows[0].iter().position(|cell| cell == title) {
            self.sides.remove(column);
            self.rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }

    /// Makes the table as narrow as a terminal. Does without optional columns, in this order, as long as
    /// whole names do not fit; then shortens texts in the middle: in the widest column of them, such as
    /// shapes, and in the first one. At last it does without the last columns.
    pub fn fit(&mut self, width: usize, optional: &[&str]) {
        const LEAST: usize = 12;
        self.first = usize::MAX;
        let longest = self.rows.iter().map(|row| columns(&row[0])).max().unwrap_or(0);
        for title in optional {
            if self.others() + longest.min(names_of(width)) + 2 > width {
                self.remove(title);
            }
        }
        let widths = self.widths();
        let texts = (1..widths.len()).filter(|column| self.sides[*column] == Side::Left);
        if let Some(column) = texts.max_by_key(|column| widths[*column]) {
            let over = (self.others() + longest.min(USUAL) + 2).saturating_sub(width);
            self.shorten(column, widths[column].saturating_sub(over).max(LEAST));
        }
        while self.others() + longest.min(LEAST) + 2 > width && self.sides.len() > 2 {
            self.sides.pop();
            self.rows.iter_mut().for_each(|row| drop(row.pop()));
        }
        self.shorten(0, width.saturating_sub(self.others() + 2).max(1));
    }

    fn shorten(&mut self, column: usize, width: usize) {
        self.rows.iter_mut().for_each(|row| row[column] = fitted(&row[column], width));
    }

    /// The width of all columns but the first.
    fn others(&self) -> usize {
        self.widths().iter().skip(1).map(|width| width + 2).sum()
    }

    /// Prints it with an indent of two columns and two between columns.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let widths = self.widths();
        self.rows.iter().try_for_each(|row| print_row(row, &widths, &self.sides, out))
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.sides.len()];
        self.rows.iter().for_each(|row| widen(&mut widths, row, self.first));
        widths
    }
}

/// Prints a table whose rows are made twice, to find the widths and to print: it may be too long for memory.
///
/// # Errors
/// Those of `out`.
pub fn print_long<R: Iterator<Item: AsRef<[String]>>>(
    titles: &[(&str, Side)],
    rows: impl Fn() -> R,
    out: &mut impl Write,
) -> io::Result<()> {
    let (head, sides): (Vec<_>, Vec<_>) =
        titles.iter().map(|(title, side)| (title.to_string(), *side)).unzip();
    let mut widths = vec![0; titles.len()];
    widen(&mut widths, &head, FIRST);
    rows().for_each(|row| widen(&mut widths, row.as_ref(), FIRST));
    print_row(&head, &widths, &sides, out)?;
    rows().try_for_each(|row| print_row(row.as_ref(), &widths, &sides, out))
}

/// Makes columns wide enough for a row.
fn widen(widths: &mut [usize], row: &[String], first: usize) {
    for (column, (width, cell)) in widths.iter_mut().zip(row).enumerate() {
        let needed = columns(cell);
        if column > 0 || needed <= first {
            *width = needed.max(*width);
        }
    }
}

fn print_row(row: &[String], widths: &[usize], sides: &[Side], out: &mut impl Write) -> io::Result<()> {
    let cells = row.iter().zip(widths).zip(sides).map(|((cell, width), side)| fit(cell, *width, *side));
    let line: Vec<String> = cells.collect();
    writeln!(out, "  {}", line.join("  ").trim_end())
}

fn fit(cell: &str, width: usize, side: Side) -> String {
    let padding = " ".repeat(width.saturating_sub(columns(cell)));
    match side {
        Side::Left => format!("{cell}{padding}"),
        Side::Right => format!("{padding}{cell}"),
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
    use super::{Side, Table, print_long, wrapped};

    #[test]
    fn lines_are_broken_after_commas() {
        let line = "  total: 3 tensors, 4 values, 5 zeros";
        assert_eq!(wrapped(line, None), line);
        assert_eq!(wrapped(line, Some(80)), line);
        assert_eq!(wrapped(line, Some(24)), "  total: 3 tensors,\n    4 values, 5 zeros");
        assert_eq!(wrapped(line, Some(10)), "  total: 3 tensors,\n    4 values,\n    5 zeros");
    }

    #[test]
    fn shapes_are_cut_and_the_last_columns_left_out() {
        let table = |width| {
            let mut table = Table::new([("name", Side::Left), ("shape", Side::Left), ("bytes", Side::Right)]);
            table.push(["weight".into(), format!("{:?}", [1; 20]), "12".into()]);
            table.fit(width, &[]);
            let mut out = Vec::new();
            table.print(&mut out).expect("writing to a Vec");
            String::from_utf8(out).expect("UTF-8")
        };
        assert_eq!(
            table(40),
            "  name    shape                    bytes\n  weight  [1, 1, 1, 1…1, 1, 1, 1]     12\n"
        );
        assert_eq!(table(24), "  name    shape\n  weight  [1, 1,…1, 1]\n");
    }

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

    #[test]
    fn a_long_table_looks_like_a_short_one() {
        let titles = [("name", Side::Left), ("bytes", Side::Right)];
        let rows = || (0..3).map(|index| ["n".repeat(3 * index), (10_usize.pow(3) * index).to_string()]);
        let mut table = Table::new(titles);
        rows().for_each(|row| table.push(row));
        let [mut short, mut long] = [Vec::new(), Vec::new()];
        table
            .print(&mut short)
            .and_then(|()| print_long(&titles, rows, &mut long))
            .expect("writing to a Vec");
        assert_eq!(long, short);
    }

    #[test]
    fn a_table_does_without_columns_and_shortens_names_to_fit() {
        let mut table = Table::new([("name", Side::Left), ("shape", Side::Left), ("bytes", Side::Right)]);
        table.push(["model.layers.0.attention.weight".into(), "[4]".into(), "12".into()]);
        table.fit(33, &["no column", "shape", "bytes"]);
        let mut out = Vec::new();
        table.print(&mut out).expect("writing to a Vec");
        let text = String::from_utf8(out).expect("UTF-8");
        assert_eq!(text, "  name                      bytes\n  model.layers…tion.weight     12\n");
    }

    #[test]
    fn a_long_name_moves_only_its_own_row() {
        let mut table = Table::new([("name", Side::Left), ("bytes", Side::Right)]);
        table.push(["n".repeat(100), "12".into()]);
        let mut out = Vec::new();
        table.print(&mut out).expect("writing to a Vec");
        let text = String::from_utf8(out).expect("UTF-8");
        assert_eq!(text, format!("  name  bytes\n  {}     12\n", "n".repeat(100)));
    }
}
