//! Measures what the libraries cost, compares it with `benches/limits.toml`, and writes it into pages.

mod desktop;
mod limits;
mod models;
mod pages;
mod programs;

pub use limits::Limits;
pub use programs::{TARGETS, UNWANTED, build, cuts, program};

use crate::report::{Outcome, Tally};
use crate::toolchain::own_version;

/// The program of the reference: its figures have no limits.
const REFERENCE: &str = "reference";

/// Figures, such as the `flash` of the program `job` on `cortex-m3`.
#[derive(Default)]
struct Figures(Vec<Figure>);

struct Figure {
    program: &'static str,
    name: String,
    target: &'static str,
    value: f64,
}

impl Figures {
    fn set(&mut self, program: &'static str, name: &str, target: &'static str, value: f64) {
        self.0.push(Figure { program, name: name.to_owned(), target, value });
    }

    fn get(&self, program: &str, name: &str, target: &str) -> Option<f64> {
        let is_it =
            |figure: &&Figure| (figure.program, &*figure.name, figure.target) == (program, name, target);
        self.0.iter().find(is_it).map(|figure| figure.value)
    }
}

/// Measures all costs and judges them by their limits; then writes them into the pages, or compares the pages
/// with them.
pub fn costs(write: bool) -> Outcome {
    // Reports a mistake in the limits before anything is built.
    let (limits, version, mut tally) = (Limits::read()?, own_version()?, Tally::default());
    let mut figures = programs::measure()?;
    if let Some(reason) = desktop::measure(&mut figures)? {
        tally.skip(&reason)?;
    }
    limits.judge(&figures, &mut tally);
    if limits.compiler != version {
        let why = format!("the pages have figures of {}, this is {version}", limits.compiler);
        tally.skip(&why)?;
        return Ok(tally);
    }
    for (page, outcome) in pages::update(&figures, write) {
        tally.check(&format!("{page} has the figures"), outcome);
    }
    Ok(tally)
}
