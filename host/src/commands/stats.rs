//! `safetensors stats`: the values of the tensors in numbers.

use super::{Context, Exit, Files, Outcome, Run};
use crate::args::count;
use crate::convert::open_model;
use crate::input::model::bytes_of;
use crate::input::selection::Selection;
use crate::input::source::Data;
use crate::json::{List, Map, about};
use crate::output::stdout::show;
use crate::print::verdict::Sound;
use crate::table::{Side, Table, number, wrapped};
use crate::tensor::stats::{ERROR, Edge, Part, QUANTILES, Row, Spread, measure};
use crate::text::terminal::{is_ascii, terminal_width};
use crate::text::{counted, grouped, quoted_whole, share_of, short};
use embedded_safetensors::Dtype;
use serde::Serialize;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::Path;

/// The titles of the columns with numbers.
const NUMBERS: [&str; 11] =
    ["values", "min", "1 %", "median", "99 %", "max", "mean", "std", "zeros", "NaN", "inf"];
const MEDIAN: usize = 3;
/// What a narrow terminal does without, in this order.
const OPTIONAL: [&str; 9] = ["1 %", "99 %", "values", "median", "dtype", "mean", "histogram", "zeros", "inf"];

/// Show minimum, maximum, mean, quantiles, zeros, NaN and a histogram of every tensor
///
/// Reads all data once, on all cores. NaN and infinities are counted, and everything else is about the finite
/// values. Exit code: 2 if at least one file cannot be read, otherwise 1 if at least one is invalid,
/// otherwise 0.
#[derive(clap::Args)]
pub struct Stats {
    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    selection: Selection,

    /// Sort the tensors by name, or by a number in descending order [default: as in the file]
    #[arg(long, value_enum, value_name = "KEY")]
    sort: Option<Key>,

    /// Show the first N tensors; the total has all
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    top: Option<NonZero<usize>>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Key {
    Name,
    /// Number of values
    Values,
    Min,
    Max,
    /// Largest magnitude
    Abs,
    Mean,
    Std,
    /// Share of zeros
    Zeros,
    /// Number of NaN and infinities
    NotFinite,
}

impl Run for Stats {
    fn run(self, context: &Context) -> Outcome {
        self.files.each(context, "--only", |file, json| self.show(context, file, json))
    }
}

impl Stats {
    fn show(&self, context: &Context, file: &Path, json: bool) -> Outcome {
        let (model, left_out) = open_model(context, file, Data::Keep)?;
        let tensors = self.selection.tensors_of(&model)?;
        let all = measure(&tensors, &context.work("reading", bytes_of(&tensors)))?;
        model.check_unchanged()?;
        let (count, mut total) = (all.len(), Part::default());
        all.iter().for_each(|row| total.merge(&row.part));
        let mut rows: Vec<&Row<'_>> = all.iter().collect();
        match self.sort {
            Some(Key::Name) => rows.sort_by_key(|row| row.tensor.name()),
            // The largest number first; tensors without one last.
            Some(key) => rows.sort_by(|one, other| key.number(other).total_cmp(&key.number(one))),
            None => {}
        }
        rows.truncate(self.top.map_or(usize::MAX, NonZero::get));
        let (bytes, tensors) = (model.file_lens(), List(rows.iter().map(|row| entry(row))));
        let more = Listing { bytes, tensors, total, quantile_error: ERROR };
        show(json, &about(model.path(), true, more), |mut out| {
            Sound::of(&model).write(file, &mut out)?;
            if count > 0 {
                let about = table(&rows, &mut out)?;
                self::total(&rows, count, &total, about, &mut out)?;
            }
            left_out.iter().try_for_each(|left_out| left_out.print("", &mut out))
        })?;
        Ok(Exit::Good)
    }
}

impl Key {
    fn number(self, Row { part, .. }: &Row<'_>) -> f64 {
        let edges = part.min.map(Edge::nearest).zip(part.max.map(Edge::nearest));
        let number = match (self, edges) {
            (Self::Values, _) => part.values as f64,
            (Self::Zeros, _) => part.zeros as f64 / (part.values.max(1) as f64),
            (Self::NotFinite, _) => (part.nan + part.infinities()) as f64,
            (Self::Name, _) | (_, None) => f64::NEG_INFINITY,
            (Self::Min, Some((min, _))) => min,
            (Self::Max, Some((_, max))) => max,
            (Self::Abs, Some((min, max))) => min.abs().max(max.abs()),
            (Self::Mean, _) => part.moments.mean(),
            (Self::Std, _) => part.moments.deviation(),
        };
        if number.is_nan() { f64::NEG_INFINITY } else { number }
    }
}

/// Prints the table. Returns whether it has a quantile of buckets: the median is the last that is left out.
fn table(rows: &[&Row<'_>], out: &mut impl Write) -> io::Result<bool> {
    let texts = ["tensor", "dtype"].map(|title| (title, Side::Left));
    let numbers = NUMBERS.map(|title| (title, Side::Right));
    let columns = texts.into_iter().chain(numbers).chain([("histogram", Side::Left)]);
    let table = Table::new(columns).optional(&OPTIONAL);
    let shown = table.print_rows(|| rows.iter().map(|row| cells(row).collect::<Vec<_>>()), out)?;
    Ok(shown[texts.len() + MEDIAN] && rows.iter().any(|row| !row.is_exact()))
}

fn cells(row: &Row<'_>) -> impl Iterator<Item = String> {
    let Row { tensor, part, spread } = row;
    let of_finite = match (part.min, part.max, spread) {
        (Some(min), Some(max), Some(Spread { quantiles, .. })) => {
            let about = if row.is_exact() { "" } else { "~" };
            let [low, median, high] = [1, 4, 7].map(|index| format!("{about}{}", short(quantiles[index])));
            let [mean, deviation] = [part.moments.mean(), part.moments.deviation()].map(short);
            [min.to_string(), low, median, high, max.to_string(), mean, deviation]
        }
        _ => ["-"; 7].map(str::to_owned),
    };
    let zeros = share_of(part.zeros, part.values);
    let bars = spread.as_ref().map_or(String::new(), sparkline);
    let of_all = [zeros, number(part.nan), number(part.infinities()), bars];
    let about = [quoted_whole(tensor.name()), tensor.dtype().to_string(), number(part.values)];
    about.into_iter().chain(of_finite).chain(of_all)
}

/// A bar for each part of the histogram, as high as its share of the highest one. No values have no bar.
fn sparkline(spread: &Spread) -> String {
    let bars = if is_ascii() { " .:-=+o*#" } else { " ▁▂▃▄▅▆▇█" };
    let most = u128::from(spread.bars.iter().max().copied().unwrap_or(0).max(1));
    let bar = |count: &u64| bars.chars().nth((u128::from(*count) * 8).div_ceil(most) as usize);
    spread.bars.iter().filter_map(bar).collect()
}

/// Prints what is known about all of so many tensors together, and what the table does not say.
fn total(rows: &[&Row<'_>], count: usize, all: &Part, about: bool, out: &mut impl Write) -> io::Result<()> {
    let mut line = format!("  total: {}, {}", counted(count as u64, "tensor"), counted(all.values, "value"));
    if let (Some(min), Some(max)) = (all.min, all.max) {
        let (mean, deviation) = (short(all.moments.mean()), short(all.moments.deviation()));
        line += &format!(" from {min} to {max}, mean {mean}, std {deviation}");
    }
    let zeros = share_of(all.zeros, all.values);
    line += &format!(", {zeros} zeros, {} NaN, {} infinite", grouped(all.nan), grouped(all.infinities()));
    writeln!(out, "{}", wrapped(&line, ", ", terminal_width()))?;
    if about {
        let line = format!(
            "  ~: a quantile of buckets, at most {ERROR} of it away, all counts and extremes are exact"
        );
        writeln!(out, "{}", wrapped(&line, ", ", terminal_width()))?;
    }
    let [sums, squares] = [all.moments.mean(), all.moments.deviation()].map(f64::is_finite);
    if all.values > all.nan + all.infinities() && !(sums && squares) {
        writeln!(out, "  inf, NaN: the sum of the values or of their squares is too large for a double")?;
    }
    if rows.iter().any(|row| row.tensor.dtype() == Dtype::C64) {
        writeln!(out, "  C64: the real and the imaginary part of an element are two values")?;
    }
    Ok(())
}

/// A file as JSON.
#[derive(Serialize)]
struct Listing<T> {
    bytes: u64,
    tensors: T,
    /// All tensors together, also those that are left out.
    total: Part,
    /// The largest share of a quantile that it is away.
    quantile_error: f64,
}

/// A tensor as JSON.
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

fn entry<'r>(row: &'r Row<'_>) -> Entry<'r, impl Serialize + use<'r>> {
    let Row { tensor, part, spread } = row;
    let quantiles = |spread: &Spread| Map(QUANTILES.iter().map(f64::to_string).zip(spread.quantiles));
    Entry {
        name: tensor.name(),
        dtype: tensor.dtype().name(),
        shape: tensor.dims(),
        part,
        quantiles: spread.as_ref().map(quantiles),
        quantiles_exact: spread.as_ref().map(|_| row.is_exact()),
        histogram: spread.as_ref(),
    }
}
