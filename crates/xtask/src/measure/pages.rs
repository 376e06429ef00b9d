//! The blocks of pages that have figures.

use super::{Figures, REFERENCE, TARGETS};
use crate::workspace;

const BEGIN: &str = "<!-- costs: written by `cargo xtask measure` -->\n\n";
const END: &str = "\n<!-- end of costs -->";

/// How much figures may differ from a page. Functions are linked in the order of their names, which contain a
/// hash of the folder's path, and the padding between them depends on their order.
const TOLERANCE: f64 = 0.003;

/// Writes the tables of all pages, or compares the pages with them.
pub fn update(figures: &Figures, write: bool) -> [(&'static str, Result<(), String>); 2] {
    let pages = [("README.md", readme(figures)), ("docs/src/costs.md", all(figures))];
    pages.map(|(page, table)| (page, update_page(page, &table, write)))
}

/// The programs without a reference whose flash is shown.
const SHOWN: [&str; 3] = ["job with dtype and shape requested", "job in C", "one dtype, from NOR flash"];

/// Returns the table of what the reference does, too, and of the flash of [`SHOWN`], on a Cortex-M3.
fn readme(figures: &Figures) -> String {
    let row = |figure: &super::Figure| {
        let (name, value) = (label(figure), cell(&figure.name, figure.value));
        if SHOWN.contains(&figure.program) && name.starts_with("flash") {
            return Some(format!("| {}: {name} | {value} | |\n", figure.program));
        }
        let reference = figures.get(REFERENCE, &figure.name, figure.target)?;
        let is_job = figure.program == "job";
        is_job.then(|| format!("| {name} | {value} | {} |\n", cell(&figure.name, reference)))
    };
    let on_it = figures.0.iter().filter(|figure| figure.target == "Cortex-M3");
    let rows: String = on_it.filter_map(row).collect();
    format!("| on a Cortex-M3 | this crate | the reference |\n|---|---|---|\n{rows}")
}

/// Returns the table of all programs on all microcontrollers, with what the reference takes.
fn all(figures: &Figures) -> String {
    let targets = TARGETS.each_ref().map(|target| target.name);
    let mut text = format!("| what | {} |\n|---|---|---|---|\n", targets.join(" | "));
    let mut row = |what: &str, cells: [String; 3]| text += &format!("| {what} | {} |\n", cells.join(" | "));
    for figure in figures.0.iter().filter(|figure| figure.target == targets[0] && figure.program != REFERENCE)
    {
        let value = |program, target| figures.get(program, &figure.name, target).unwrap_or(f64::NAN);
        let cells = |program| targets.map(|target| cell(&figure.name, value(program, target)));
        row(&format!("{}: {}", figure.program, label(figure)), cells(figure.program));
        if figure.program == "job" && !value(REFERENCE, targets[0]).is_nan() {
            row("– the reference", cells(REFERENCE));
        }
        if figure.program == "job" && figure.value > 0.0 && value(REFERENCE, targets[0]).is_finite() {
            row("– ratio", targets.map(|on| cell("", value("job", on) / value(REFERENCE, on))));
        }
    }
    text
}

fn label(figure: &super::Figure) -> &str {
    figure.name.trim_end_matches(", B")
}

/// Formats a figure with three digits, or whole with commas between thousands.
fn cell(name: &str, value: f64) -> String {
    let number = match value {
        f64::INFINITY => return "out of memory".to_owned(),
        1000.0.. => format!("{},{:03}", (value / 1000.0).floor(), (value % 1000.0).floor()),
        _ if value.fract() == 0.0 || value >= 100.0 => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    number + if name.ends_with(", B") { " B" } else { "" }
}

fn update_page(page: &str, block: &str, write: bool) -> Result<(), String> {
    let path = workspace::root().join(page);
    let text = workspace::text(&path)?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?)));
    let (before, (stated, after)) = parts.ok_or_else(|| format!("{page} has no block for costs"))?;
    match stated.lines().zip(block.lines()).find(|(stated, measured)| !is_like(stated, measured)) {
        _ if write => workspace::write(&path, [before, BEGIN, block, END, after].concat().as_bytes()),
        Some((stated, measured)) => Err(format!("it says {stated}, but measured was {measured}")),
        None if stated.lines().count() != block.lines().count() => {
            Err("it has another number of rows".to_owned())
        }
        None => Ok(()),
    }
}

/// Whether two lines differ only in numbers, and these by no more than the tolerance and what rounding adds.
fn is_like(stated: &str, measured: &str) -> bool {
    let number = |word: &str| word.replace(',', "").parse::<f64>();
    let (one, other) = (stated.split_whitespace(), measured.split_whitespace());
    let is_like_word = |(one, other): (&str, &str)| match (number(one), number(other)) {
        (Ok(a), Ok(b)) => (a - b).abs() <= a.abs() * TOLERANCE + if one.contains('.') { 0.1 } else { 0.0 },
        _ => one == other,
    };
    one.clone().count() == other.clone().count() && one.zip(other).all(is_like_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_may_differ_by_the_tolerance() {
        let line = "| flash | 11,047 B | 17.6 |";
        assert!(is_like(line, line) && is_like(line, "| flash | 11,075 B | 17.7 |"));
        let others =
            ["| flash | 11,081 B | 17.6 |", "| RAM | 11,047 B | 17.6 |", "| flash | 11,047 B | 17.8 |"];
        assert!(others.iter().all(|other| !is_like(line, other)) && !is_like("| 0 |", "| 1 |"));
        assert_eq!(
            [11_047.0, 17.649, 1.5, 0.0].map(|value| cell("", value)),
            ["11,047", "17.6", "1.50", "0"]
        );
    }
}
