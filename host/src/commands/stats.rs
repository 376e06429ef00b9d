//! `safetensors stats`: the values of the tensors in numbers.

use crate::args::count;
use crate::commands::{Files, Run};
use crate::context::Context;
use crate::error::Outcome;
use crate::exit::Exit;
use crate::input::model::{Model, bytes_of};
use crate::input::selection::Selection;
use crate::json::Object;
use crate::print::diagnostic::say;
use crate::print::verdict::Sound;
use crate::tensor::stats::{Aggregate, Row, json, measure, sum, table, total};
use std::cmp::Ordering;
use std::io::{self, BufWriter, Write};
use std::num::NonZero;
use std::path::Path;

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
    fn json(&self) -> bool {
        self.files.json()
    }

    fn run(self, context: &Context) -> Outcome {
        self.files.each(|file, json| {
            self.show(context, file, json).map_err(|error| say(&error, json)).or_else(Ok::<_, io::Error>)
        })
    }
}

impl Stats {
    fn show(&self, context: &Context, file: &Path, json: bool) -> Outcome {
        let model = Model::open(context, file)?;
        let tensors = self.selection.tensors_of(&model)?;
        let mut rows = measure(&tensors, &context.work("reading", bytes_of(&tensors)))?;
        model.check_unchanged()?;
        let (count, all) = (rows.len(), sum(&rows));
        self.arrange(&mut rows);
        let mut out = BufWriter::new(io::stdout().lock());
        if json {
            self.print_json(&model, &rows, &all, &mut out)?;
        } else {
            Sound::of(&model).write(file, &mut out)?;
            if count > 0 {
                table(&rows, &mut out)?;
                total(&rows, count, &all, &mut out)?;
            }
        }
        out.flush()?;
        Ok(Exit::Good)
    }

    fn arrange(&self, rows: &mut Vec<Row<'_>>) {
        if let Some(key) = self.sort {
            rows.sort_by(|one, other| key.compare(one, other));
        }
        rows.truncate(self.top.map_or(usize::MAX, NonZero::get));
    }

    fn print_json(
        &self,
        model: &Model,
        rows: &[Row<'_>],
        all: &Aggregate,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let object = Object::new().text("file", &model.path().to_string_lossy()).flag("ok", true);
        writeln!(out, "{}", json(object.number("bytes", model.file_lens()), rows, all))
    }
}

impl Key {
    /// The largest number first; tensors without one last.
    fn compare(self, one: &Row<'_>, other: &Row<'_>) -> Ordering {
        match self {
            Self::Name => one.tensor.name().cmp(other.tensor.name()),
            _ => self.number(other).total_cmp(&self.number(one)),
        }
    }

    fn number(self, row: &Row<'_>) -> f64 {
        let part = &row.statistics.part;
        if part.finite() == 0 && !matches!(self, Self::Values | Self::Zeros | Self::NotFinite) {
            return f64::NEG_INFINITY;
        }
        let [least, largest] = [part.least, part.largest].map(|edge| edge.map_or(0.0, |edge| edge.nearest()));
        match self {
            Self::Name => 0.0,
            Self::Values => part.values as f64,
            Self::Min => least,
            Self::Max => largest,
            Self::Abs => least.abs().max(largest.abs()),
            Self::Mean => part.moments.mean(),
            Self::Std => part.moments.deviation(),
            Self::Zeros => part.zeros as f64 / (part.values.max(1) as f64),
            Self::NotFinite => (part.nan + part.infinities()) as f64,
        }
    }
}
