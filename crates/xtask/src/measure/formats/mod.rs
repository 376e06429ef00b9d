//! The formats that the field compares, on one vector of 10,000 `f32`, as the program `formats` of the verification
//! measures them; and the page that shows them.

mod figure;
mod page;

use crate::budget::{Limit, Row};
use crate::process::Run;
use crate::toolchain::own_cargo;
use figure::{Figure, Section, Whose};

pub use page::write;

/// Other programs on the machine can only make things slower, so the best times of so many runs count.
const RUNS: usize = 5;

/// How many times as long as with the bare bytes it may take.
const WRITING: Limit = Limit::AtMost(1.2);
const READING: Limit = Limit::AtMost(1.1);

/// The door that the budget is of: what is in memory is read there.
const DOOR: &str = "Writer, View";

/// Every way to write and to read the vector.
pub struct Figures(Vec<Figure>);

impl Figures {
    /// Measures, several times where the budget is not kept at once; HDF5 too, if it shall be built.
    pub fn measure(has_hdf5: bool) -> Result<Self, String> {
        let mut best = Self::run(has_hdf5)?;
        for _ in 1..RUNS {
            if best.rows()?.iter().all(Row::is_kept) {
                break;
            }
            best = best.better(Self::run(has_hdf5)?)?;
        }
        Ok(best)
    }

    fn run(has_hdf5: bool) -> Result<Self, String> {
        let output = program(has_hdf5).capture()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let figures: Option<Vec<Figure>> = text.lines().map(Figure::parse).collect();
        figures.map(Self).ok_or_else(|| format!("these are no figures of formats:\n{text}"))
    }

    fn better(self, other: Self) -> Result<Self, String> {
        if self.0.len() != other.0.len() {
            return Err("two runs have measured different things".to_owned());
        }
        Ok(Self(self.0.into_iter().zip(other.0).map(|(one, other)| one.better(&other)).collect()))
    }

    /// What is judged: writing and reading in memory against the bare bytes there.
    pub fn rows(&self) -> Result<Vec<Row>, String> {
        let memory = |wanted: &dyn Fn(&Figure) -> bool, what| {
            let mut figures = self.of(Section::Memory);
            figures.find(|figure| wanted(figure)).ok_or_else(|| format!("nobody has measured {what}"))
        };
        let floor = memory(&|figure| figure.whose == Whose::Floor, "the floor")?;
        let reference = memory(&|figure| figure.whose == Whose::Reference, "the reference")?;
        let ours = memory(&|figure| figure.whose == Whose::Ours && figure.name == DOOR, DOOR)?;
        let row = |what: &str, limit, time: fn(&Figure) -> f64| Row {
            what: format!("{what} 10,000 f32 in memory, of the time with bare bytes"),
            limit: Some(limit),
            ours: time(ours) / time(floor),
            unit: "x",
            reference: Some(time(reference) / time(floor)),
        };
        Ok(vec![
            row("writing", WRITING, |figure| figure.write),
            row("reading", READING, |figure| figure.read),
        ])
    }

    /// All of them as an array of objects.
    pub fn json(&self) -> String {
        format!("[{}]", self.0.iter().map(Figure::json).collect::<Vec<_>>().join(","))
    }

    /// All of them, a line each.
    pub fn text(&self) -> String {
        self.0.iter().map(|figure| figure.line(self.floor(figure.section))).collect()
    }

    fn of(&self, section: Section) -> impl Iterator<Item = &Figure> {
        self.0.iter().filter(move |figure| figure.section == section)
    }

    fn floor(&self, section: Section) -> Option<&Figure> {
        self.of(section).find(|figure| figure.whose == Whose::Floor)
    }
}

fn program(has_hdf5: bool) -> Run {
    let package = ["run", "--release", "--quiet", "--package", "verification"];
    let feature = if has_hdf5 { "hdf5" } else { "formats" };
    own_cargo().args(package).args(["--features", feature, "--bin", "formats"])
}

#[cfg(test)]
mod tests;
