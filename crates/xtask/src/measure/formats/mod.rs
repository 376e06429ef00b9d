//! The formats that the field compares, on one vector of 10,000 `f32`, as the program `formats` of the verification
//! measures them; and the page that shows them.

mod figure;
mod page;

use super::limits::{Limits, Ratio};
use super::row::Row;
use super::{Measured, Options};
use crate::process::Run;
use crate::toolchain::own_cargo;
use figure::{Figure, Section, Whose};
use serde_json::json;

/// Other programs on the machine can only make things slower, so the best times of so many runs count.
const RUNS: usize = 5;

/// The way that the limit is of: what is in memory is read there.
const OURS: &str = "Writer, View";

pub fn measure(options: &Options) -> Result<Measured, String> {
    let limits = Limits::read()?.formats;
    let mut figures = Figures::run(options.hdf5)?;
    for _ in 1..RUNS {
        if figures.rows(&limits)?.iter().all(Row::is_kept) {
            break;
        }
        figures = figures.better(Figures::run(options.hdf5)?)?;
    }
    Ok(Measured {
        rows: figures.rows(&limits)?,
        tables: page::tables(&figures),
        pictures: if options.pages { page::pictures(&figures) } else { Vec::new() },
        text: figures.text(),
        details: json!({ "formats": figures.0 }),
        ..Measured::default()
    })
}

/// Every way to write and to read the vector.
struct Figures(Vec<Figure>);

impl Figures {
    fn run(has_hdf5: bool) -> Result<Self, String> {
        let output = program(has_hdf5).capture()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let figures = text.lines().map(serde_json::from_str).collect::<Result<Vec<Figure>, _>>();
        figures.map(Self).map_err(|error| format!("these are no figures of formats ({error}):\n{text}"))
    }

    fn better(self, other: Self) -> Result<Self, String> {
        if self.0.len() != other.0.len() {
            return Err("two runs have measured different things".to_owned());
        }
        Ok(Self(self.0.into_iter().zip(other.0).map(|(one, other)| one.better(&other)).collect()))
    }

    /// What is judged: writing and reading in memory against the bare bytes there.
    fn rows(&self, limits: &[Ratio]) -> Result<Vec<Row>, String> {
        limits.iter().map(|limit| self.row(limit)).collect()
    }

    fn row(&self, limit: &Ratio) -> Result<Row, String> {
        let time = match limit.cases.first().map(String::as_str) {
            Some("write") => |figure: &Figure| figure.write_ns,
            Some("read") => |figure: &Figure| figure.read_ns,
            _ => return Err(format!("benches/limits.toml: \"{}\" is of no case: write or read", limit.what)),
        };
        let memory = |wanted: &dyn Fn(&Figure) -> bool, what| {
            let mut figures = self.of(Section::Memory);
            figures
                .find(|figure| wanted(figure))
                .map(time)
                .ok_or_else(|| format!("nobody has measured {what}"))
        };
        let floor = memory(&|figure| figure.name == limit.beside, "the floor")?;
        let reference = memory(&|figure| figure.whose == Whose::Reference, "the reference")?;
        let ours = memory(&|figure| figure.whose == Whose::Ours && figure.name == OURS, OURS)?;
        Ok(Row {
            what: limit.what.clone(),
            limit: limit.limit(),
            ours: ours / floor,
            unit: "x".to_owned(),
            reference: Some(reference / floor),
            unmet: false,
        })
    }

    /// All of them, a line each.
    fn text(&self) -> String {
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
