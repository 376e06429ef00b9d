//! Prints the statistics of tensors.

use crate::json::Map;
use crate::table::{Side, Table, number, wrapped};
use crate::tensor::stats::buckets::ERROR;
use crate::tensor::stats::part::Part;
use crate::tensor::stats::scan::Row;
use crate::tensor::stats::spread::{QUANTILES, Spread};
use crate::text::terminal::{is_ascii, terminal_width};
use crate::text::{counted, grouped, quoted_whole, share_of, short};
use embedded_safetensors::Dtype;
use serde::{Serialize, Serializer};
use std::io::{self, Write};

const TITLES: [&str; 14] = [
    "tensor",
    "dtype",
    "values",
    "min",
    "1 %",
    "median",
    "99 %",
    "max",
    "mean",
    "std",
    "zeros",
    "NaN",
    "inf",
    "histogram",
];
/// What a narrow terminal does without, in this order.
const OPTIONAL: [&str; 9] = ["1 %", "99 %", "values", "median", "dtype", "mean", "histogram", "zeros", "inf"];

/// Prints the table, which fits the terminal if there is one.
///
/// # Errors
/// Those of `out`.
pub fn table(rows: &[Row<'_>], out: &mut impl Write) -> io::Result<()> {
    let (ascii, is_text) = (is_ascii(), |title| ["tensor", "dtype", "histogram"].contains(&title));
    let side = |title| (title, if is_text(title) { Side::Left } else { Side::Right });
    let mut table = Table::new(TITLES.map(side));
    rows.iter().for_each(|row| table.push(cells(row, ascii)));
    if let Some(width) = terminal_width() {
        table.fit(width, &OPTIONAL);
    }
    table.print(out)
}

fn cells(Row { tensor, part, spread, exact }: &Row<'_>, ascii: bool) -> [String; TITLES.len()] {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let about = if *exact { "" } else { "~" };
    let quantile = |spread: &Spread, index: usize| format!("{about}{}", short(spread.quantiles[index]));
    let quantiles = [1, 4, 7].map(|index| or_none(spread.as_ref().map(|spread| quantile(spread, index))));
    let [low, median, high] = quantiles;
    let moments = [part.moments.mean(), part.moments.deviation()];
    let [mean, deviation] = moments.map(|moment| or_none(part.min.map(|_| short(moment))));
    let [min, max] = [part.min, part.max].map(|edge| or_none(edge.map(|edge| edge.to_string())));
    [
        quoted_whole(tensor.name()),
        tensor.dtype().to_string(),
        number(part.values),
        min,
        low,
        median,
        high,
        max,
        mean,
        deviation,
        share_of(part.zeros, part.values),
        number(part.nan),
        number(part.infinities()),
        spread.as_ref().map_or(String::new(), |spread| sparkline(spread, ascii)),
    ]
}

/// A bar for each part of the histogram, as high as its share of the highest one. No values have no bar.
fn sparkline(spread: &Spread, ascii: bool) -> String {
    let bars = if ascii { " .:-=+o*#" } else { " ▁▂▃▄▅▆▇█" };
    let most = u128::from(spread.bars.iter().max().copied().unwrap_or(0).max(1));
    let bar = |count: &u64| bars.chars().nth((u128::from(*count) * 8).div_ceil(most) as usize);
    spread.bars.iter().filter_map(bar).collect()
}

/// Prints what is known about all of so many tensors together, and what the table does not say.
///
/// # Errors
/// Those of `out`.
pub fn total(rows: &[Row<'_>], count: usize, all: &Part, out: &mut impl Write) -> io::Result<()> {
    let mut line = format!("  total: {}, {}", counted(count as u64, "tensor"), counted(all.values, "value"));
    if let (Some(min), Some(max)) = (all.min, all.max) {
        let (mean, deviation) = (short(all.moments.mean()), short(all.moments.deviation()));
        line += &format!(" from {min} to {max}, mean {mean}, std {deviation}");
    }
    let zeros = share_of(all.zeros, all.values);
    line += &format!(", {zeros} zeros, {} NaN, {} infinite", grouped(all.nan), grouped(all.infinities()));
    writeln!(out, "{}", wrapped(&line, terminal_width()))?;
    if rows.iter().any(|row| !row.exact) {
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

/// A file as JSON.
#[derive(Serialize)]
pub struct Listing<'r> {
    pub bytes: u64,
    pub tensors: &'r [Row<'r>],
    /// All tensors together, also those that are left out.
    pub total: &'r Part,
    /// The largest share of a quantile that it is away.
    pub quantile_error: f64,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Entry<'r, Q> {
            name: &'r str,
            dtype: &'r str,
            shape: &'r [u64],
            #[serde(flatten)]
            part: &'r Part,
            quantiles: Option<Q>,
            #[serde(skip_serializing_if = "Option::is_none")]
            quantiles_exact: Option<bool>,
            histogram: Option<&'r Spread>,
        }
        let shares = || QUANTILES.iter().map(f64::to_string);
        let (name, dtype, shape) = (self.tensor.name(), self.tensor.dtype().name(), self.tensor.dims());
        let (part, histogram) = (&self.part, self.spread.as_ref());
        let quantiles = histogram.map(|spread| Map(shares().zip(spread.quantiles)));
        let quantiles_exact = histogram.map(|_| self.exact);
        Entry { name, dtype, shape, part, quantiles, quantiles_exact, histogram }.serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::sparkline;
    use crate::tensor::stats::spread::Spread;

    #[test]
    fn bars_are_as_high_as_their_counts() {
        let mut spread = Spread::default();
        spread.bars[..5].copy_from_slice(&[1, 0, 400, 800, 401]);
        assert_eq!(sparkline(&spread, false).trim_end(), "▁ ▄█▅");
        assert_eq!(sparkline(&spread, true).trim_end(), ". =#+");
    }
}
