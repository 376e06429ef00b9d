//! Writes and checks tables in pages, each between two marks.

use crate::workspace;

/// A table in a page.
pub struct Table {
    /// A path relative to the repository's root.
    pub page: &'static str,
    pub name: &'static str,
    pub text: String,
    pub likeness: Likeness,
}

/// How much the table in a page may differ from the one that was just measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// This many cells at the start of each line must be equal.
    pub equal: usize,
    /// In the other cells words must be equal, and numbers may differ by this.
    pub others: Difference,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Difference {
    /// By this part of the number.
    Part(f64),
    /// By this amount.
    Amount(f64),
    /// By any amount: times are of one computer only.
    Any,
}

impl Table {
    /// Replaces the text of the page between `<!-- table NAME: … -->` and `<!-- end of table NAME -->`,
    /// each on a line of its own.
    pub fn write(&self) -> Result<(), String> {
        let text = self.read()?;
        let (before, _, after) = self.split(&text)?;
        let text = format!("{before}\n{}\n\n{after}", self.text.trim_end());
        workspace::write(&workspace::root().join(self.page), text.as_bytes())
    }

    /// Checks that the page shows this table.
    pub fn check(&self) -> Result<(), String> {
        let text = self.read()?;
        let (_, shown, _) = self.split(&text)?;
        self.likeness.compare(shown, &self.text).map_err(|difference| {
            format!(
                "the table {} in {} is out of date (`cargo xtask measure --write` updates it): {difference}",
                self.name, self.page
            )
        })
    }

    fn read(&self) -> Result<String, String> {
        workspace::text(&workspace::root().join(self.page))
    }

    /// Splits the page: up to the end of the first mark's line, the table, and from the second mark on.
    fn split<'t>(&self, text: &'t str) -> Result<(&'t str, &'t str, &'t str), String> {
        let (begin, end) =
            (format!("<!-- table {}:", self.name), format!("<!-- end of table {} -->", self.name));
        let lacks = |mark: &str| format!("{}: the mark \"{mark}\" is not on exactly one line", self.page);
        let at = line_with(text, &begin).ok_or_else(|| lacks(&begin))?;
        let len = text[at..].find('\n').ok_or_else(|| lacks(&end))?;
        let (before, rest) = text.split_at(at + len + 1);
        let (table, after) = rest.split_at(line_with(rest, &end).ok_or_else(|| lacks(&end))?);
        Ok((before, table, after))
    }
}

/// Returns the offset of the only line with this beginning.
fn line_with(text: &str, beginning: &str) -> Option<usize> {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let mut found = starts.filter(|&at| text[at..].starts_with(beginning));
    found.next().filter(|_| found.next().is_none())
}

impl Likeness {
    /// Compares two tables; the error shows the first lines that differ too much.
    pub fn compare(self, shown: &str, new: &str) -> Result<(), String> {
        let [mut shown, mut new] = [shown, new].map(|text| text.lines().filter(|line| line.starts_with('|')));
        loop {
            match (shown.next(), new.next()) {
                (None, None) => return Ok(()),
                (Some(shown), Some(new)) if self.are_alike(shown, new) => {}
                (shown, new) => {
                    let [shown, new] = [shown, new].map(|line| line.unwrap_or("(nothing)"));
                    return Err(format!("the page has\n  {shown}\nbut now it is\n  {new}"));
                }
            }
        }
    }

    fn are_alike(self, shown: &str, new: &str) -> bool {
        let (shown, new) = (shown.split('|').collect::<Vec<_>>(), new.split('|').collect::<Vec<_>>());
        let alike = |(cell, (shown, new)): (usize, (&&str, &&str))| match cell <= self.equal {
            true => shown == new,
            false => self.others.allows(shown, new),
        };
        shown.len() == new.len() && shown.iter().zip(&new).enumerate().all(alike)
    }
}

impl Difference {
    fn allows(self, shown: &str, new: &str) -> bool {
        let (shown, new) = (words(shown), words(new));
        let alike = |(shown, new): (&&str, &&str)| match (figure(shown), figure(new)) {
            (Some(shown), Some(new)) => match self {
                Self::Part(part) => (shown - new).abs() <= part * new.abs().max(shown.abs()),
                Self::Amount(most) => (shown - new).abs() <= most,
                Self::Any => true,
            },
            _ => shown == new || self == Self::Any,
        };
        (shown.len() == new.len() || self == Self::Any) && shown.iter().zip(&new).all(alike)
    }
}

/// Splits a cell into numbers and the text between them, without the mark of an unmet limit.
fn words(cell: &str) -> Vec<&str> {
    let cell = cell.split(", **unmet**");
    let is_digit = |character: char| character.is_ascii_digit() || [',', '.'].contains(&character);
    cell.flat_map(|part| part.split_inclusive(|character| !is_digit(character)))
        .flat_map(|part| part.split_at_checked(part.trim_end_matches(|last| !is_digit(last)).len()))
        .flat_map(|(number, rest)| [number, rest])
        .filter(|word| !word.is_empty())
        .collect()
}

fn figure(word: &str) -> Option<f64> {
    word.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &'static str) -> Table {
        let likeness = Likeness { equal: 9, others: Difference::Any };
        Table { page: "a page", name, text: String::new(), likeness }
    }

    #[test]
    fn each_mark_must_be_on_one_line() {
        let page = "a\n<!-- table x: written by this -->\n\n| 1 |\n\n<!-- end of table x -->\nb\n";
        let expected =
            ("a\n<!-- table x: written by this -->\n", "\n| 1 |\n\n", "<!-- end of table x -->\nb\n");
        assert_eq!(table("x").split(page), Ok(expected));
        for page in ["", "a\n<!-- table x: b", "<!-- table x: b -->\n", &[page, page].concat()] {
            assert!(table("x").split(page).is_err(), "{page}");
        }
        assert!(table("y").split(page).unwrap_err().contains("table y:"));
    }

    #[test]
    fn cells_are_equal_or_similar() {
        let differs = |equal, others, shown, new| Likeness { equal, others }.compare(shown, new).is_err();
        let tenth = Difference::Part(0.1);
        assert!(!differs(2, tenth, "| a | ≤ 6,144 B | 5,000 B |", "| a | ≤ 6,144 B | 5,400 B |"));
        assert!(differs(3, tenth, "| a | ≤ 6,144 B | 5,000 B |", "| a | ≤ 6,144 B | 5,400 B |"));
        assert!(differs(2, tenth, "| a | ≤ 6,144 B | 5,000 B |", "| a | ≤ 6,144 B | 5,600 B |"));
        assert!(differs(1, tenth, "| a | 12.5x |", "| a | 12.5 B |"));
        assert!(!differs(1, tenth, "| a | 6,150 B, **unmet** |", "| a | 6,140 B |"));
        assert!(differs(1, tenth, "| a | 0 |", "| a | 1 |"));
        let ten = Difference::Amount(10.0);
        assert!(
            !differs(1, ten, "| a | 0 KiB |", "| a | 10 KiB |")
                && differs(1, ten, "| a | 0 KiB |", "| a | 11 KiB |")
        );
        assert!(!differs(1, Difference::Any, "| a | 5 ns |", "| a | 8 ms |"));
        assert!(differs(1, Difference::Any, "| a | 5 ns |", "| b | 5 ns |"));
        assert!(differs(1, Difference::Any, "| a | 5 |", "| a | 5 |\n| b | 5 |"));
    }
}
