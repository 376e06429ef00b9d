//! Tables in pages, each between two marks.

use crate::workspace;

/// A table in a page.
pub struct Table {
    /// A path below the root.
    pub page: &'static str,
    pub name: &'static str,
    pub text: String,
    pub likeness: Likeness,
}

/// How much a table that is written down may differ from the one that was just measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// The first so many cells of each line may not differ.
    pub equal: usize,
    /// In the others the words may not, and numbers by so much.
    pub others: Difference,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Difference {
    /// By this part of themselves.
    Part(f64),
    /// By so much.
    Amount(f64),
    /// However much: times are those of one machine.
    Any,
}

impl Table {
    /// Replaces the text of the page between `<!-- table NAME: … -->` and `<!-- end of table NAME -->`, each on a line of its own.
    pub fn write(&self) -> Result<(), String> {
        let text = self.read()?;
        let (before, _, after) = self.split(&text)?;
        let text = format!("{before}\n{}\n\n{after}", self.text.trim_end());
        workspace::write(&workspace::root().join(self.page), text.as_bytes())
    }

    /// An error when the page shows another table than this one.
    pub fn check(&self) -> Result<(), String> {
        let text = self.read()?;
        let (_, shown, _) = self.split(&text)?;
        self.likeness.compare(shown, &self.text).map_err(|difference| {
            format!(
                "the table {} in {} is stale (`cargo xtask measure --write` writes it): {difference}",
                self.name, self.page
            )
        })
    }

    fn read(&self) -> Result<String, String> {
        workspace::text(&workspace::root().join(self.page))
    }

    /// The page up to the end of the first mark's line, the table, and the page from the second mark on.
    fn split<'t>(&self, text: &'t str) -> Result<(&'t str, &'t str, &'t str), String> {
        let (begin, end) =
            (format!("<!-- table {}:", self.name), format!("<!-- end of table {} -->", self.name));
        let lacks = |mark: &str| format!("{}: there is no mark \"{mark}\" on one line of its own", self.page);
        let at = line_with(text, &begin).ok_or_else(|| lacks(&begin))?;
        let len = text[at..].find('\n').ok_or_else(|| lacks(&end))?;
        let (before, rest) = text.split_at(at + len + 1);
        let (table, after) = rest.split_at(line_with(rest, &end).ok_or_else(|| lacks(&end))?);
        Ok((before, table, after))
    }
}

/// Where the only line begins that begins so.
fn line_with(text: &str, beginning: &str) -> Option<usize> {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let mut found = starts.filter(|&at| text[at..].starts_with(beginning));
    found.next().filter(|_| found.next().is_none())
}

impl Likeness {
    /// An error that shows the first lines of tables that differ too much.
    pub fn compare(self, shown: &str, due: &str) -> Result<(), String> {
        let [mut shown, mut due] = [shown, due].map(|text| text.lines().filter(|line| line.starts_with('|')));
        loop {
            match (shown.next(), due.next()) {
                (None, None) => return Ok(()),
                (Some(shown), Some(due)) if self.are_alike(shown, due) => {}
                (shown, due) => {
                    let [shown, due] = [shown, due].map(|line| line.unwrap_or("(nothing)"));
                    return Err(format!("it says\n  {shown}\nbut now it is\n  {due}"));
                }
            }
        }
    }

    fn are_alike(self, shown: &str, due: &str) -> bool {
        let (shown, due) = (shown.split('|').collect::<Vec<_>>(), due.split('|').collect::<Vec<_>>());
        let alike = |(cell, (shown, due)): (usize, (&&str, &&str))| match cell <= self.equal {
            true => shown == due,
            false => self.others.allows(shown, due),
        };
        shown.len() == due.len() && shown.iter().zip(&due).enumerate().all(alike)
    }
}

impl Difference {
    fn allows(self, shown: &str, due: &str) -> bool {
        let (shown, due) = (words(shown), words(due));
        let alike = |(shown, due): (&&str, &&str)| match (figure(shown), figure(due)) {
            (Some(shown), Some(due)) => match self {
                Self::Part(part) => (shown - due).abs() <= part * due.abs().max(shown.abs()),
                Self::Amount(most) => (shown - due).abs() <= most,
                Self::Any => true,
            },
            _ => shown == due || self == Self::Any,
        };
        (shown.len() == due.len() || self == Self::Any) && shown.iter().zip(&due).all(alike)
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
    fn marks_are_there_once_and_both() {
        let page = "a\n<!-- table x: written by this -->\n\n| 1 |\n\n<!-- end of table x -->\nb\n";
        let due = ("a\n<!-- table x: written by this -->\n", "\n| 1 |\n\n", "<!-- end of table x -->\nb\n");
        assert_eq!(table("x").split(page), Ok(due));
        for page in ["", "a\n<!-- table x: b", "<!-- table x: b -->\n", &[page, page].concat()] {
            assert!(table("x").split(page).is_err(), "{page}");
        }
        assert!(table("y").split(page).unwrap_err().contains("table y:"));
    }

    #[test]
    fn cells_are_equal_or_near() {
        let differs = |equal, others, shown, due| Likeness { equal, others }.compare(shown, due).is_err();
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
