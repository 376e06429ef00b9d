//! Prints the statistics of tensors.

use crate::json::{Object, array};
use crate::table::{Side, Table, number, wrapped};
use crate::tensor::compare::shown;
use crate::tensor::stats::aggregate::Aggregate;
use crate::tensor::stats::buckets::ERROR;
use crate::tensor::stats::scan::{Row, Statistics};
use crate::tensor::stats::spread::{QUANTILES, Spread};
use crate::text::share_of;
use crate::text::terminal::{is_ascii, terminal_width};
use crate::text::{counted, grouped, quoted_whole, short};
use embedded_safetensors::Dtype;
use safetensors_convert::numbers::Number;
use std::io::{self, Write};

const TITLES: [(&str, Side); 14] = [
    ("tensor", Side::Left),
    ("dtype", Side::Left),
    ("values", Side::Right),
    ("min", Side::Right),
    ("1 %", Side::Right),
    ("median", Side::Right),
    ("99 %", Side::Right),
    ("max", Side::Right),
    ("mean", Side::Right),
    ("std", Side::Right),
    ("zeros", Side::Right),
    ("NaN", Side::Right),
    ("inf", Side::Right),
    ("histogram", Side::Left),
];
/// What a narrow terminal does without, in this order.
const OPTIONAL: [&str; 9] = ["1 %", "99 %", "values", "median", "dtype", "mean", "histogram", "zeros", "inf"];

/// Prints the table, which fits the terminal if there is one.
///
/// # Errors
/// Those of `out`.
pub fn table(rows: &[Row<'_>], out: &mut impl Write) -> io::Result<()> {
    let ascii = is_ascii();
    let mut table = Table::new(TITLES);
    rows.iter().for_each(|row| table.push(cells(row, ascii)));
    if let Some(width) = terminal_width() {
        table.fit(width, &OPTIONAL);
    }
    table.print(out)
}

fn cells(Row { tensor, statistics }: &Row<'_>, ascii: bool) -> Vec<String> {
    let Statistics { part, spread, exact } = statistics;
    let edge = |number: Option<Number>| number.map_or("-".to_owned(), brief);
    let quantile = |index: usize| match spread {
        Some(spread) => format!("{}{}", if *exact { "" } else { "~" }, short(spread.quantiles[index])),
        None => "-".to_owned(),
    };
    let moment = |value: f64| if part.finite() > 0 { short(value) } else { "-".to_owned() };
    let histogram = spread.as_ref().map_or(String::new(), |spread| sparkline(spread, ascii));
    vec![
        quoted_whole(tensor.name()),
        tensor.dtype().to_string(),
        number(part.values),
        edge(part.least),
        quantile(1),
        quantile(4),
        quantile(7),
        edge(part.largest),
        moment(part.moments.mean()),
        moment(part.moments.deviation()),
        share_of(part.zeros, part.values),
        number(part.nan),
        number(part.infinities()),
        histogram,
    ]
}

/// Integers are exact.
pub fn brief(number: Number) -> String {
    match number {
        Number::Float(float) => short(float),
        integer => shown(integer),
    }
}

/// A bar for each part of the histogram, as high as its share of the highest one. No values have no bar.
pub fn sparkline(spread: &Spread, ascii: bool) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const MARKS: [char; 8] = ['.', ':', '-', '=', '+', 'o', '*', '#'];
    let (bars, most) = (if ascii { MARKS } else { BARS }, spread.bars.iter().max().copied().unwrap_or(0));
    let bar = |count: &u64| {
        let height = (u128::from(*count) * 8).div_ceil(u128::from(most.max(1)));
        usize::try_from(height)
            .ok()
            .and_then(|height| bars.get(height.checked_sub(1)?))
            .copied()
            .unwrap_or(' ')
    };
    spread.bars.iter().map(bar).collect()
}

/// Prints what is known about all of so many tensors together, and what the table does not say.
///
/// # Errors
/// Those of `out`.
pub fn total(rows: &[Row<'_>], count: usize, all: &Aggregate, out: &mut impl Write) -> io::Result<()> {
    let mut line = format!("  total: {}, {}", counted(count as u64, "tensor"), counted(all.values, "value"));
    if let (Some(least), Some(largest)) = (all.least, all.largest) {
        let (mean, deviation) = (short(all.moments.mean()), short(all.moments.deviation()));
        line += &format!(" from {} to {}, mean {mean}, std {deviation}", brief(least), brief(largest));
    }
    let zeros = share_of(all.zeros, all.values);
    line += &format!(", {zeros} zeros, {} NaN, {} infinite", grouped(all.nan), grouped(all.infinities()));
    writeln!(out, "{}", wrapped(&line, terminal_width()))?;
    if rows.iter().any(|row| !row.statistics.exact) {
        let line = format!(
            "  ~: a quantile of buckets, at most {ERROR} of it away, all counts and extremes are exact"
        );
        writeln!(out, "{}", wrapped(&line, terminal_width()))?;
    }
    if rows.iter().any(|row| row.tensor.dtype() == Dtype::C64) {
        writeln!(out, "  C64: the real and the imaginary part of an element are two values")?;
    }
    Ok(())
}

/// All parts, in the order of the rows.
pub fn sum(rows: &[Row<'_>]) -> Aggregate {
    let mut all = Aggregate::default();
    rows.iter().for_each(|row| all.merge(&row.statistics.part));
    all
}

/// The statistics as an object; `total` is that of all tensors, also of those that are left out.
pub fn json(object: Object, rows: &[Row<'_>], total: &Aggregate) -> String {
    let tensors = array(rows.iter().map(row_json));
    let total = part_json(Object::new(), total).end();
    let object = object.raw("tensors", &tensors).raw("total", &total);
    object.float("quantile_error", ERROR).end()
}

fn row_json(Row { tensor, statistics }: &Row<'_>) -> String {
    let Statistics { part, spread, exact } = statistics;
    let object = Object::new().text("name", tensor.name()).text("dtype", tensor.dtype().name());
    let object = object.raw("shape", &array(tensor.dims().iter().map(u64::to_string)));
    let object = part_json(object, part);
    match spread {
        None => object.raw("quantiles", "null").raw("histogram", "null").end(),
        Some(spread) => {
            let quantiles = QUANTILES.iter().zip(spread.quantiles);
            let quantiles = quantiles
                .fold(Object::new(), |object, (share, value)| object.float(&share.to_string(), value));
            let bars = array(spread.bars.iter().map(u64::to_string));
            let bars = Object::new().float("from", spread.from).float("to", spread.to).raw("counts", &bars);
            let bars = bars.number("outside", part.finite() - spread.counted());
            let object = object.raw("quantiles", &quantiles.end()).flag("quantiles_exact", *exact);
            object.raw("histogram", &bars.end()).end()
        }
    }
}

fn part_json(object: Object, part: &Aggregate) -> Object {
    let object = object.number("values", part.values).number("zeros", part.zeros).number("nan", part.nan);
    let object = object.number("inf", part.positive).number("negative_inf", part.negative);
    let edge = |object: Object, key: &str, number: Option<Number>| match number {
        None => object.raw(key, "null"),
        Some(Number::Float(float)) => object.float(key, float),
        Some(integer) => object.raw(key, &shown(integer)),
    };
    let object = edge(edge(object, "min", part.least), "max", part.largest);
    match part.finite() {
        0 => object.raw("mean", "null").raw("std", "null"),
        _ => object.float("mean", part.moments.mean()).float("std", part.moments.deviation()),
    }
}

#[cfg(test)]
mod tests {
    use super::sparkline;
    use crate::tensor::stats::spread::{BARS, Spread};
    use crate::text::share_of;

    #[test]
    fn only_nothing_is_no_percent_and_only_all_is_a_hundred() {
        let shares =
            [(0_u64, 9_u64), (1, 1_000_000), (1, 8), (999_999, 1_000_000), (7, 7), (0, 0), (1, 6), (5, 6)];
        let texts = ["0 %", "<0.01 %", "12.50 %", "99.99 %", "100 %", "0 %", "16.67 %", "83.33 %"];
        assert_eq!(shares.map(|(part, all)| share_of(part, all)), texts);
    }

    #[test]
    fn bars_are_as_high_as_their_counts() {
        let mut bars = [0; BARS];
        bars[..5].copy_from_slice(&[1, 0, 400, 800, 401]);
        let spread = Spread { bars, ..Spread::default() };
        assert_eq!(sparkline(&spread, false).trim_end(), "▁ ▄█▅");
        assert_eq!(sparkline(&spread, true).trim_end(), ". =#+");
    }
}
