//! `safetensors stats`: the values of the tensors in numbers.

use crate::args::count;
use crate::commands::{Files, Run};
use crate::context::Context;
use crate::error::Outcome;
use crate::exit::Exit;
use crate::input::model::{Model, bytes_of};
use crate::input::selection::Selection;
use crate::json::{self, about};
use crate::print::diagnostic::say;
use crate::print::verdict::Sound;
use crate::tensor::stats::{ERROR, Edge, Listing, Part, Row, measure, table, total};
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
        let (count, mut all) = (rows.len(), Part::default());
        rows.iter().for_each(|row| all.merge(&row.part));
        match self.sort {
            Some(Key::Name) => rows.sort_by_key(|row| row.tensor.name()),
            // The largest number first; tensors without one last.
            Some(key) => rows.sort_by(|one, other| key.number(other).total_cmp(&key.number(one))),
            None => {}
        }
        rows.truncate(self.top.map_or(usize::MAX, NonZero::get));
        let mut out = BufWriter::new(io::stdout().lock());
        if json {
            let bytes = model.file_lens();
            let more = Listing { bytes, tensors: &rows, total: &all, quantile_error: ERROR };
            json::print(&mut out, &about(model.path(), true, more))?;
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
}

impl Key {
    fn number(self, Row { part, .. }: &Row<'_>) -> f64 {
        let edges = part.min.map(Edge::nearest).zip(part.max.map(Edge::nearest));
        match (self, edges) {
            (Self::Values, _) => part.values as f64,
            (Self::Zeros, _) => part.zeros as f64 / (part.values.max(1) as f64),
            (Self::NotFinite, _) => (part.nan + part.infinities()) as f64,
            (Self::Name, _) | (_, None) => f64::NEG_INFINITY,
            (Self::Min, Some((min, _))) => min,
            (Self::Max, Some((_, max))) => max,
            (Self::Abs, Some((min, max))) => min.abs().max(max.abs()),
            (Self::Mean, _) => part.moments.mean(),
            (Self::Std, _) => part.moments.deviation(),
        }
    }
}
