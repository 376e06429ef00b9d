//! The lines of the table: what they are of, what they may be.

use super::sheet::Sheet;
use super::{FAST, JUDGED, LEVELS, SMALL, TARGETS};
use crate::budget::{Limit, Row};

/// One figure on each target.
pub struct Line {
    pub what: &'static str,
    /// The largest of these counts.
    levels: &'static [&'static str],
    figure: &'static str,
    pub limit: Option<Limit>,
    /// Whether the limit is that of one target alone.
    one_target: bool,
    unit: &'static str,
    /// The same of the reference.
    reference: Option<&'static str>,
    /// What stands there where it has no such figure.
    without: &'static str,
}

const S: &[&str] = &[SMALL];
const Z: &[&str] = &["z"];
const O3: &[&str] = &[FAST];
const ALL: &[&str] = &LEVELS;

const fn told(
    what: &'static str,
    levels: &'static [&'static str],
    figure: &'static str,
    unit: &'static str,
) -> Line {
    Line { what, levels, figure, limit: None, one_target: false, unit, reference: None, without: "–" }
}

impl Line {
    const fn most(self, most: f64) -> Self {
        Self { limit: Some(Limit::AtMost(most)), ..self }
    }

    const fn on_one_target(self) -> Self {
        Self { one_target: true, ..self }
    }

    const fn beside(self, reference: &'static str) -> Self {
        Self { reference: Some(reference), ..self }
    }

    const fn where_the_reference(self, without: &'static str) -> Self {
        Self { without, ..self }
    }
}

/// Instructions for each byte of a header, of which `speed` says what it may be.
const fn speed(what: &'static str, levels: &'static [&'static str], figure: &'static str, most: f64) -> Line {
    told(what, levels, figure, "").most(most).on_one_target()
}

/// A figure is that of `firmware/size` by the names in `measure.rs`.
pub const LINES: [Line; 32] = [
    told("flash, `s`", S, "stream.flash", "B").most(6144.0).beside("reference.flash"),
    told("of that the parser: JSON, UTF-8, what entries must have", S, "stream.flash.parser", "B"),
    told(
        "of that routines of the compiler: memory copied and cleared, long products",
        S,
        "stream.flash.routines",
        "B",
    ),
    told("flash, `z`", Z, "stream.flash", "B").beside("reference.flash"),
    told("flash, `3`", O3, "stream.flash", "B").beside("reference.flash"),
    told("flash of the core where a model is in a const, any level", ALL, "view.parser", "B")
        .most(0.0)
        .beside("reference.flash"),
    told("RAM for 10 tensors, `s`", S, "stream.ram.10", "B").most(512.0).beside("reference.ram.usual.10"),
    told("RAM for 100 tensors, `s`", S, "stream.ram.100", "B").most(512.0).beside("reference.ram.usual.100"),
    told("RAM for 100,000 tensors, `s`", S, "stream.ram.100000", "B")
        .most(512.0)
        .where_the_reference("out of memory, with 2 MiB of heap"),
    told("RAM for 100 tensors, `z`", Z, "stream.ram.100", "B").beside("reference.ram.usual.100"),
    told("RAM for 100 tensors, `3`", O3, "stream.ram.100", "B").beside("reference.ram.usual.100"),
    told("RAM that 99,990 tensors more take, `s`", S, "stream.growth", "B").most(0.0),
    told(
        "tensors in a header that 64 KiB of RAM can open, `s` (100,000 were tried)",
        S,
        "stream.most_tensors",
        "",
    )
    .beside("reference.most_tensors"),
    told(
        "heap: functions of an allocator, any level; the reference: allocations for 100 tensors",
        ALL,
        "stream.heap_symbols",
        "",
    )
    .most(0.0)
    .beside("reference.allocations.usual.100"),
    told("symbols of panics, formatting and unwinding, any level", ALL, "stream.unwanted_symbols", "")
        .most(0.0)
        .beside("reference.unwanted_symbols"),
    told("the same where a model is in a const", ALL, "view.unwanted_symbols", "").most(0.0),
    speed("instructions for a byte of the header: `open`, `3`", O3, "stream.open.usual.512", 12.0)
        .beside("reference.open.usual.100"),
    speed("instructions for a byte of the header: `open`, `s`", S, "stream.open.usual.512", 20.0)
        .beside("reference.open.usual.100"),
    speed("instructions for a byte of the header: `find`, `3`", O3, "stream.find.usual.512", 12.0)
        .where_the_reference("below 1: from a map in its heap"),
    speed("instructions for a byte of the header: `find`, `s`", S, "stream.find.usual.512", 20.0)
        .where_the_reference("below 1: from a map in its heap"),
    told(
        "instructions for a byte of the header: the whole job through 64 B, `s`",
        S,
        "stream.job.usual.64",
        "",
    )
    .beside("reference.job.usual.100"),
    speed(
        "instructions for a byte of the header: `open`, with spaces, `3`",
        O3,
        "stream.open.spaced.512",
        45.0,
    )
    .beside("reference.open.spaced.100"),
    speed(
        "instructions for a byte of the header: `open`, with spaces, `s`",
        S,
        "stream.open.spaced.512",
        50.0,
    )
    .beside("reference.open.spaced.100"),
    speed(
        "instructions for a byte of the header: `find`, with spaces, `3`",
        O3,
        "stream.find.spaced.512",
        45.0,
    )
    .where_the_reference("below 1: from a map in its heap"),
    speed(
        "instructions for a byte of the header: `find`, with spaces, `s`",
        S,
        "stream.find.spaced.512",
        50.0,
    )
    .where_the_reference("below 1: from a map in its heap"),
    speed(
        "instructions for a byte of the header: `open`, in a spelling without shortcuts, `3`",
        O3,
        "stream.open.foreign.512",
        45.0,
    )
    .beside("reference.open.foreign.100"),
    speed(
        "instructions for a byte of the header: `open`, in a spelling without shortcuts, `s`",
        S,
        "stream.open.foreign.512",
        50.0,
    )
    .beside("reference.open.foreign.100"),
    speed(
        "instructions for a byte of the header: `find`, in a spelling without shortcuts, `3`",
        O3,
        "stream.find.foreign.512",
        45.0,
    )
    .where_the_reference("below 1: from a map in its heap"),
    speed(
        "instructions for a byte of the header: `find`, in a spelling without shortcuts, `s`",
        S,
        "stream.find.foreign.512",
        50.0,
    )
    .where_the_reference("below 1: from a map in its heap"),
    told("instructions for a KiB that is streamed through 512 B, `s`", S, "stream.kib.512", ""),
    told(
        "instructions of streaming above the same reads by hand, 512 B, any level",
        ALL,
        "stream.above_raw.512",
        "%",
    )
    .most(5.0),
    told("the same, 64 B, any level", ALL, "stream.above_raw.64", "%"),
];

pub fn rows(sheets: &[Sheet]) -> Result<Vec<Row>, String> {
    let rows = LINES.iter().map(|line| line.rows(sheets));
    Ok(rows.collect::<Result<Vec<_>, String>>()?.into_iter().flatten().collect())
}

impl Line {
    /// One for each target.
    pub fn rows(&self, sheets: &[Sheet]) -> Result<Vec<Row>, String> {
        TARGETS.iter().map(|target| self.row(sheets, target.name)).collect()
    }

    fn row(&self, sheets: &[Sheet], target: &str) -> Result<Row, String> {
        let reference = self.reference.map(|figure| self.largest(sheets, target, figure)).transpose()?;
        let limit = self.limit.filter(|_| !self.one_target || target == JUDGED);
        let ours = self.largest(sheets, target, self.figure)?;
        Ok(Row { what: format!("{}, {target}", self.what), limit, ours, unit: self.unit, reference })
    }

    /// The reference's figure, or what stands there without one.
    pub fn shown_reference(&self, row: &Row) -> String {
        if row.reference.is_some() { row.shown_reference() } else { self.without.to_owned() }
    }

    fn largest(&self, sheets: &[Sheet], target: &str, figure: &str) -> Result<f64, String> {
        let asked = |sheet: &&Sheet| sheet.target == target && self.levels.contains(&sheet.level);
        let values = sheets.iter().filter(asked).map(|sheet| sheet.get(figure));
        let values = values.collect::<Result<Vec<f64>, String>>()?;
        values.into_iter().reduce(f64::max).ok_or_else(|| format!("nothing was measured on {target}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheets(figure: &str, values: [(&'static str, f64); 3]) -> Vec<Sheet> {
        let place = |target: &super::super::Target| {
            values.map(|(level, value)| {
                let mut sheet = Sheet::new(target.name, "", level);
                sheet.set(figure, value);
                sheet
            })
        };
        TARGETS.iter().flat_map(place).collect()
    }

    #[test]
    fn the_largest_of_its_levels_counts() {
        let sheets = sheets("a", [("s", 1.0), ("z", 3.0), ("3", 2.0)]);
        let ours = |levels| told("", levels, "a", "").rows(&sheets).unwrap()[0].ours;
        assert_eq!([ours(S), ours(O3), ours(ALL)], [1.0, 2.0, 3.0]);
        assert!(told("", S, "b", "").rows(&sheets).is_err());
    }

    #[test]
    fn a_figure_stands_before_words() {
        let sheets = sheets("a", [("s", 1.0), ("z", 3.0), ("3", 2.0)]);
        let shown = |line: Line| line.shown_reference(&line.rows(&sheets).unwrap()[0]);
        assert_eq!(shown(told("", S, "a", "B").where_the_reference("none")), "none");
        assert_eq!(shown(told("", S, "a", "B").where_the_reference("none").beside("a")), "1 B");
        assert_eq!(shown(told("", S, "a", "B")), "–");
    }

    #[test]
    fn a_limit_may_be_that_of_one_target() {
        let sheets = sheets("a", [("s", 1.0), ("z", 3.0), ("3", 2.0)]);
        let kept = |line: Line| line.rows(&sheets).unwrap().iter().map(Row::is_kept).collect::<Vec<_>>();
        assert_eq!(kept(told("", S, "a", "").most(0.5)), [false; 3]);
        assert_eq!(kept(told("", S, "a", "").most(1.0)), [true; 3]);
        assert_eq!(kept(speed("", S, "a", 0.5)), TARGETS.map(|target| target.name != JUDGED));
    }
}
