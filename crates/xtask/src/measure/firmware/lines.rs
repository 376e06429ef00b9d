//! The lines of the tables: the figures listed in `benches/limits.toml`, and the pages that show them.

use super::sheet::Sheet;
use super::{JUDGED, TARGETS};
use crate::measure::limits::{Limits, Line};
use crate::measure::row::{Limit, Row, with_unit};
use crate::measure::table::{Difference, Likeness, Table};
use crate::stages::pages;

const PAGE: &str = "benches/report/firmware.md";

/// How much figures may differ with another compiler.
const ANOTHER_COMPILER: f64 = 0.15;
/// The reference contains panic messages with paths: its size depends on where the sources are.
const ELSEWHERE: f64 = 0.02;
/// Where the sources are decides in which order the functions of the C API are linked, and so their padding.
const ORDERED_ELSEWHERE: f64 = 0.003;

/// Returns one row for each line and target. A quick measurement leaves out deep lines, and those without a
/// sheet.
pub fn rows(lines: &[Line], sheets: &[Sheet], quick: bool) -> Result<Vec<Row>, String> {
    let pairs = lines.iter().flat_map(|line| TARGETS.iter().map(move |target| (line, target.name)));
    let is_included = |(line, target): &(&Line, &str)| {
        !quick || (!line.deep && sheets.iter().any(|sheet| line.uses(sheet, target)))
    };
    pairs.filter(is_included).map(|(line, target)| line.row(sheets, target)).collect()
}

/// Returns the tables of the pages.
pub fn tables(limits: &Limits, sheets: &[Sheet]) -> Result<Vec<Table>, String> {
    let table = |page, name, is_shown: &dyn Fn(&Line) -> bool| {
        let lines: Vec<&Line> = limits.firmware.iter().filter(|line| is_shown(line)).collect();
        let has_first = lines.iter().any(|line| line.first.is_some());
        let mut columns = vec!["what".to_owned(), "limit".to_owned()];
        columns.extend(TARGETS.map(|target| target.name.to_owned()));
        columns.extend(has_first.then(|| format!("first version, {JUDGED}")));
        let (equal, part) = if name == "c" { (2, ORDERED_ELSEWHERE) } else { (columns.len(), ELSEWHERE) };
        let likeness = likeness(limits, sheets, equal, part);
        columns.push(if name == "c" { format!("in Rust, {JUDGED}") } else { format!("reference, {JUDGED}") });
        let rows: Result<String, String> = lines.iter().map(|line| line.text(sheets, has_first)).collect();
        let text = format!(
            "| {} |\n|{}\n{}\nMeasured with {}.",
            columns.join(" | "),
            "---|".repeat(columns.len()),
            rows?,
            sheets[0].compiler
        );
        Ok::<_, String>(Table { page, name, text, likeness })
    };
    Ok(vec![
        table(PAGE, "job", &|line| line.table == "job")?,
        table(PAGE, "paths", &|line| line.table == "paths")?,
        table(PAGE, "c", &|line| line.table == "c")?,
        table(pages::COSTS, "firmware", &|line| line.costs && line.table != "c")?,
        table(pages::COSTS, "c", &|line| line.costs && line.table == "c")?,
        readme(limits, sheets)?,
    ])
}

/// Returns the few lines that the readme shows, without limits.
fn readme(limits: &Limits, sheets: &[Sheet]) -> Result<Table, String> {
    let mut text = "| | this crate | the reference |\n|---|---|---|\n".to_owned();
    for line in &limits.firmware {
        let Some(name) = &line.readme else { continue };
        let ours = with_unit(line.largest(sheets, JUDGED, &line.figure)?, &line.unit);
        text += &format!("| {name} | {ours} | {} |\n", line.shown_reference(sheets)?);
    }
    Ok(Table { page: pages::README, name: "costs", text, likeness: likeness(limits, sheets, 2, ELSEWHERE) })
}

/// With the compiler of the limits, the first columns must be `equal`; the others may differ by this `part`.
fn likeness(limits: &Limits, sheets: &[Sheet], equal: usize, part: f64) -> Likeness {
    let places = sheets.iter().filter_map(Sheet::place);
    let mut same = places.map(|place| limits.has_compiler_of(&place));
    match same.all(|same| same) {
        true => Likeness { equal, others: Difference::Part(part) },
        false => Likeness { equal: 2, others: Difference::Part(ANOTHER_COMPILER) },
    }
}

/// Checks that the pages contain the promises of the limits; the error names the first that is missing.
pub fn check_promises(lines: &[Line]) -> Result<(), String> {
    for line in lines {
        for (page, promise) in &line.promises {
            let text = promise.replace("{n}", &with_unit(line.at_most.unwrap_or(0.0), ""));
            let text = text.replace("{}", &with_unit(line.at_most.unwrap_or(0.0), &line.unit));
            pages::check(page, [text])?;
        }
    }
    Ok(())
}

impl Line {
    fn row(&self, sheets: &[Sheet], target: &str) -> Result<Row, String> {
        Ok(Row {
            what: format!("{}, {target}", self.what),
            limit: self.limit(target).map(Limit::AtMost),
            unmet: self.unmet.iter().any(|unmet| unmet == target),
            ours: self.largest(sheets, target, &self.figure)?,
            unit: self.unit.clone(),
            reference: self.reference.as_ref().and_then(|figure| self.largest(sheets, target, figure).ok()),
        })
    }

    fn limit(&self, target: &str) -> Option<f64> {
        let is_judged = self.on.is_empty() || self.on.iter().any(|judged| judged == target);
        self.at_most_on.get(target).copied().or(self.at_most.filter(|_| is_judged))
    }

    /// Returns the limit as a table shows it: one for all targets, or that of each.
    fn shown_limit(&self) -> String {
        match self.at_most {
            None => "–".to_owned(),
            Some(most) if self.at_most_on.is_empty() => Limit::AtMost(most).sign(&self.unit),
            Some(_) => {
                let limits = TARGETS.map(|target| {
                    self.limit(target.name).map_or("–".to_owned(), |most| with_unit(most, &self.unit))
                });
                format!("≤ {}", limits.join(" / "))
            }
        }
    }

    fn uses(&self, sheet: &Sheet, target: &str) -> bool {
        sheet.target == target
            && (self.levels.is_empty() || self.levels.iter().any(|level| level == sheet.level))
    }

    fn largest(&self, sheets: &[Sheet], target: &str, figure: &str) -> Result<f64, String> {
        let values = sheets
            .iter()
            .filter(|sheet| self.uses(sheet, target))
            .map(|sheet| sheet.get(figure))
            .collect::<Result<Vec<f64>, String>>()?;
        values
            .into_iter()
            .reduce(f64::max)
            .ok_or_else(|| format!("{}: nothing was measured on {target}", self.what))
    }

    fn shown_reference(&self, sheets: &[Sheet]) -> Result<String, String> {
        let figure =
            self.reference.as_ref().map(|figure| self.largest(sheets, JUDGED, figure)).transpose()?;
        let words = self.reference_says.clone().unwrap_or("–".to_owned());
        Ok(figure.map_or(words, |value| with_unit(value, &self.unit)))
    }

    /// Returns one line of a table.
    fn text(&self, sheets: &[Sheet], has_first: bool) -> Result<String, String> {
        let rows: Vec<Row> =
            TARGETS.iter().map(|target| self.row(sheets, target.name)).collect::<Result<_, _>>()?;
        let limit = self.shown_limit();
        let reference = self.shown_reference(sheets)?;
        let mut cells: Vec<String> = rows.iter().map(Row::shown).collect();
        let first = || self.first.map_or("–".to_owned(), |value| with_unit(value, &self.unit));
        cells.extend(has_first.then(first));
        Ok(format!("| {} | {limit} | {} | {reference} |\n", self.what, cells.join(" | ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    fn sheets(figure: &str, values: [(&'static str, f64); 3]) -> Vec<Sheet> {
        let place = |target: &super::super::Target| {
            values.map(|(level, value)| {
                let mut sheet = Sheet::new(target.name, level, String::new());
                sheet.set(figure, value);
                sheet
            })
        };
        TARGETS.iter().flat_map(place).collect()
    }

    fn line(more: &str) -> Line {
        toml::from_str(&format!("what = 'w'\ntable = 'job'\nfigure = 'a'\n{more}")).unwrap()
    }

    #[test]
    fn a_line_takes_the_largest_figure_of_its_levels() {
        let sheets = sheets("a", [("s", 1.0), ("z", 3.0), ("3", 2.0)]);
        let ours = |more: &str| line(more).row(&sheets, JUDGED).map(|row| row.ours);
        assert_eq!([ours("levels = ['s']"), ours("levels = ['3']"), ours("")], [Ok(1.0), Ok(2.0), Ok(3.0)]);
        let missing = Line { figure: "b".to_owned(), ..line("") };
        assert!([true, false].iter().all(|quick| rows(from_ref(&missing), &sheets, *quick).is_err()));
        let deep = |quick| rows(&[Line { deep: true, ..missing.clone() }], &sheets, quick);
        assert!(deep(false).is_err() && deep(true).is_ok_and(|rows| rows.is_empty()));
        assert!(rows(from_ref(&missing), &[], true).is_ok_and(|rows| rows.is_empty()));
    }

    #[test]
    fn a_limit_may_be_for_one_target_and_unmet_on_another() {
        let sheets = sheets("a", [("s", 1.0), ("z", 3.0), ("3", 2.0)]);
        let kept = |more: &str| {
            rows(&[line(more)], &sheets, false)
                .unwrap()
                .iter()
                .map(|row| row.judge().is_ok())
                .collect::<Vec<_>>()
        };
        assert_eq!(kept("at_most = 2"), [false; 3]);
        assert_eq!(kept("at_most = 2\non = ['Cortex-M3']"), [true, false, true]);
        assert_eq!(kept("at_most = 2\nunmet = ['Cortex-M3']"), [false, true, false]);
        let own = "at_most = 3\nat_most_on = {RV32IMC = 2}";
        assert_eq!(kept(own), [true, true, false]);
        assert_eq!(line(own).shown_limit(), "≤ 3 / 3 / 2");
    }

    #[test]
    fn pages_contain_the_promises_of_the_limits() {
        let limits = Limits::read().unwrap();
        assert_eq!(check_promises(&limits.firmware), Ok(()));
        let wider = |line: &Line| Line { at_most: line.at_most.map(|most| most + 1.0), ..line.clone() };
        let promised: Vec<&Line> = limits.firmware.iter().filter(|line| !line.promises.is_empty()).collect();
        assert!(promised.iter().all(|line| check_promises(&[wider(line)]).is_err()));
    }
}
