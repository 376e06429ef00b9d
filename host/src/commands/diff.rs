//! `safetensors diff`: shows how two models differ.

use super::{Context, Exit, Outcome, Run, check_stdin_once};
use crate::input::model::Model;
use crate::input::selection::Selection;
use crate::json::object;
use crate::output::stdout::show;
use crate::tensor::compare::{Policy, compare};
use crate::text::shown_text;
use std::path::PathBuf;

/// Compare two models: names, dtypes, shapes, metadata and every value
///
/// Exit code: 130 if interrupted, otherwise 2 if one cannot be read, otherwise 1 if they differ or one is
/// invalid, otherwise 0.
#[derive(clap::Args)]
pub struct Diff {
    /// First model; `-` is standard input
    #[arg(value_name = "A")]
    a: PathBuf,

    /// Second model; `-` is standard input
    #[arg(value_name = "B")]
    b: PathBuf,

    /// Compare names, shapes and values only: dtypes and metadata may differ
    #[arg(long)]
    values: bool,

    /// Ignore differences of at most ABS, and differences in dtype
    #[arg(long, value_name = "ABS", value_parser = measure, allow_negative_numbers = true)]
    tolerance: Option<f64>,

    /// Ignore differences of at most REL times the larger value, and differences in dtype
    #[arg(long, value_name = "REL", value_parser = measure, allow_negative_numbers = true)]
    relative: Option<f64>,

    #[command(flatten)]
    selection: Selection,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn measure(text: &str) -> Result<f64, String> {
    let measure: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if measure.is_finite() && measure >= 0.0 {
        Ok(measure)
    } else {
        Err("a number of 0 or more needed".to_owned())
    }
}

impl Run for Diff {
    fn run(self, context: &Context) -> Outcome {
        let paths = [self.a.clone(), self.b.clone()];
        check_stdin_once(&paths)?;
        let policy = self.policy();
        let (a, b) = match (Model::open(context, &self.a), Model::open(context, &self.b)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(a), Err(b)) if b.exit() > a.exit() => return Err(b),
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        let [in_a, in_b] = self.selection.of_all([&a, &b])?;
        let comparison = compare(context, (&a, in_a), (&b, in_b), &policy)?;
        let ok = comparison.is_same(&policy);
        let [a, b] = &paths.map(|path| path.to_string_lossy().into_owned());
        show(self.json, &object! { ok, a, b, #[serde(flatten)] comparison: &comparison }, |out| {
            comparison.print([&shown_text(a), &shown_text(b)], &policy, out)
        })?;
        Ok(if ok { Exit::Good } else { Exit::Bad })
    }
}

impl Diff {
    fn policy(&self) -> Policy {
        let about_values = self.values || self.tolerance.is_some() || self.relative.is_some();
        Policy {
            absolute: self.tolerance.unwrap_or(0.0),
            relative: self.relative.unwrap_or(0.0),
            dtypes: !about_values,
            metadata: !self.values,
        }
    }
}
