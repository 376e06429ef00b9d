//! The formats that the field compares, on one vector of 10,000 `f32`, as the program `formats` of the verification measures them.

use super::limits::{Limits, Ratio};
use super::row::Row;
use super::{Measured, Options, number};
use crate::toolchain::own_cargo;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Other programs on the machine can only make things slower, so one of so many runs is enough within the limits.
const RUNS: usize = 5;

/// The way that the limits are of: what is in memory is read there.
const OURS: &str = "Writer, View";

/// What is compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Section {
    #[serde(rename = "memory")]
    Memory,
    #[serde(rename = "in place")]
    InPlace,
    #[serde(rename = "file")]
    File,
    #[serde(rename = "durable")]
    Durable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Whose {
    Floor,
    Ours,
    Reference,
    Other,
}

/// One way to write the vector and to read it, and the nanoseconds that both take.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Figure {
    #[serde(rename = "where")]
    section: Section,
    whose: Whose,
    name: String,
    how: String,
    bytes: u64,
    write_ns: f64,
    read_ns: f64,
}

/// Every way to write and to read the vector.
struct Figures(Vec<Figure>);

pub fn measure(options: &Options) -> Result<Measured, String> {
    let limits = Limits::read()?.formats;
    let mut figures = Figures::run(options.hdf5)?;
    for _ in 1..RUNS {
        if figures.rows(&limits)?.iter().all(Row::is_kept) {
            break;
        }
        figures = Figures::run(options.hdf5)?;
    }
    Ok(Measured {
        rows: figures.rows(&limits)?,
        text: figures.0.iter().map(|figure| figure.line(figures.floor(figure.section))).collect(),
        details: json!({ "formats": figures.0 }),
        ..Measured::default()
    })
}

impl Figures {
    fn run(has_hdf5: bool) -> Result<Self, String> {
        let feature = if has_hdf5 { "hdf5" } else { "formats" };
        let package = ["run", "--release", "--quiet", "--package", "verification", "--features", feature];
        let output = own_cargo().args(package).args(["--bin", "formats"]).capture()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let figures = text.lines().map(serde_json::from_str).collect::<Result<Vec<Figure>, _>>();
        figures.map(Self).map_err(|error| format!("these are no figures of formats ({error}):\n{text}"))
    }

    /// What is judged: writing and reading in memory against the bare bytes there.
    fn rows(&self, limits: &[Ratio]) -> Result<Vec<Row>, String> {
        limits.iter().map(|limit| self.row(limit)).collect()
    }

    fn row(&self, limit: &Ratio) -> Result<Row, String> {
        let time = match &limit.cases.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["write"] => |figure: &Figure| figure.write_ns,
            ["read"] => |figure: &Figure| figure.read_ns,
            _ => return Err(format!("benches/limits.toml: \"{}\" is of no case: write or read", limit.what)),
        };
        let memory = |whose, name: &str| {
            let mut figures = self.of(Section::Memory).filter(|figure| figure.whose == whose);
            let figure = figures.find(|figure| name.is_empty() || figure.name == name);
            figure
                .map(time)
                .filter(|time| *time > 0.0)
                .ok_or_else(|| format!("not measured: {whose:?} {name} in memory"))
        };
        let floor = memory(Whose::Floor, &limit.beside)?;
        Ok(Row {
            what: limit.what.clone(),
            limit: limit.limit(),
            ours: memory(Whose::Ours, OURS)? / floor,
            unit: "x".to_owned(),
            reference: Some(memory(Whose::Reference, "")? / floor),
            unmet: false,
        })
    }

    fn of(&self, section: Section) -> impl Iterator<Item = &Figure> {
        self.0.iter().filter(move |figure| figure.section == section)
    }

    fn floor(&self, section: Section) -> Option<&Figure> {
        self.of(section).find(|figure| figure.whose == Whose::Floor)
    }
}

impl Figure {
    /// Whose it is, as the page tells it.
    fn title(&self) -> String {
        match self.whose {
            Whose::Ours => format!("embedded-safetensors: {}", self.name),
            _ => self.name.clone(),
        }
    }

    /// `Memory: raw bytes: 40,000 B; written in 700 ns (1x), read in 720 ns (1x): copied`
    fn line(&self, floor: Option<&Self>) -> String {
        let [written, read] = [|figure: &Self| figure.write_ns, |figure: &Self| figure.read_ns].map(|time| {
            let times = floor.map_or(f64::NAN, |floor| time(self) / time(floor));
            format!("{} ns ({}x)", number(time(self)), number(times))
        });
        let (title, len) = (self.title(), number(self.bytes as f64));
        format!("{:?}: {title}: {len} B; written in {written}, read in {read}: {}\n", self.section, self.how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(times: [[f64; 2]; 3], missing: Option<usize>) -> Result<Vec<Row>, String> {
        let whose = [("floor", "raw bytes"), ("ours", OURS), ("reference", "safetensors 0.8")];
        let figure = |((whose, name), [write, read]): ((&str, &str), [f64; 2])| {
            let line = json!({ "where": "memory", "whose": whose, "name": name, "how": "", "bytes": 4, "write_ns": write, "read_ns": read });
            serde_json::from_value(line).unwrap()
        };
        let mut figures: Vec<Figure> = whose.into_iter().zip(times).map(figure).collect();
        missing.map(|missing| figures.remove(missing));
        Figures(figures).rows(&Limits::read()?.formats)
    }

    #[test]
    fn ours_is_judged_against_the_floor() {
        let kept = rows([[700.0, 720.0], [805.0, 770.4], [1400.0, 1440.0]], None).unwrap();
        assert!(kept.iter().all(Row::is_kept) && kept[0].reference == Some(2.0), "{kept:?}");
        let slow = rows([[700.0, 720.0], [850.0, 800.0], [1400.0, 1440.0]], None).unwrap();
        assert!(slow.iter().all(|row| !row.is_kept()), "{slow:?}");
        assert!((0..3).all(|missing| rows([[1.0; 2]; 3], Some(missing)).is_err()));
    }
}
