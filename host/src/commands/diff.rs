//! `safetensors diff`: shows how two models differ.

use crate::commands::{Run, check_stdin_once};
use crate::context::Context;
use crate::error::Outcome;
use crate::exit::Exit;
use crate::input::model::Model;
use crate::tensor::compare::{Policy, Tolerance, compare, json, print};
use crate::text::shown_text;
use std::io::{self, BufWriter, Write};
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

    /// Compare values only; ignore differences in dtype and metadata
    #[arg(long)]
    values: bool,

    /// Ignore differences of at most ABS, and differences in dtype
    #[arg(long, value_name = "ABS", value_parser = measure, allow_negative_numbers = true)]
    tolerance: Option<f64>,

    /// Ignore differences of at most REL times the larger value, and differences in dtype
    #[arg(long, value_name = "REL", value_parser = measure, allow_negative_numbers = true)]
    relative: Option<f64>,

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
    fn json(&self) -> bool {
        self.json
    }

    fn run(self, context: &Context) -> Outcome {
        let paths = [self.a.clone(), self.b.clone()];
        check_stdin_once(&paths)?;
        let policy = self.policy();
        let (a, b) = match (Model::open(context, &self.a), Model::open(context, &self.b)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(a), Err(b)) if b.exit() > a.exit() => return Err(b),
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        let comparison = compare(context, &a, &b, &policy)?;
        let [a, b] = paths.map(|path| path.to_string_lossy().into_owned());
        let mut out = BufWriter::new(io::stdout().lock());
        if self.json {
            writeln!(out, "{}", json(&comparison, (&a, &b), &policy))?;
        } else {
            print(&comparison, (&shown_text(&a), &shown_text(&b)), &policy, &mut out)?;
        }
        out.flush()?;
        Ok(if comparison.is_same(&policy) { Exit::Good } else { Exit::Bad })
    }
}

impl Diff {
    fn policy(&self) -> Policy {
        let about_values = self.values || self.tolerance.is_some() || self.relative.is_some();
        let (absolute, relative) = (self.tolerance.unwrap_or(0.0), self.relative.unwrap_or(0.0));
        Policy { tolerance: Tolerance { absolute, relative }, dtypes: !about_values, metadata: !self.values }
    }
}
