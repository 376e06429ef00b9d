//! One line of what the program printed.

use crate::measure::number;
use serde::{Deserialize, Serialize};

/// What is compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    Memory,
    #[serde(rename = "in place")]
    InPlace,
    File,
    Durable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    Floor,
    Ours,
    Reference,
    Other,
}

/// One way to write the vector and to read it, and the nanoseconds that both take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    #[serde(rename = "where")]
    pub section: Section,
    pub whose: Whose,
    pub name: String,
    pub how: String,
    pub bytes: u64,
    pub write_ns: f64,
    pub read_ns: f64,
}

impl Figure {
    /// The same with the better times of two runs.
    pub fn better(self, other: &Self) -> Self {
        Self { write_ns: self.write_ns.min(other.write_ns), read_ns: self.read_ns.min(other.read_ns), ..self }
    }

    /// Whose it is, as the page tells it.
    pub fn title(&self) -> String {
        match self.whose {
            Whose::Ours => format!("embedded-safetensors: {}", self.name),
            _ => self.name.clone(),
        }
    }

    /// `memory: raw bytes: 40,000 B; written in 700 ns (1x), read in 720 ns (1x): copied`
    pub fn line(&self, floor: Option<&Self>) -> String {
        let [written, read] = [|figure: &Self| figure.write_ns, |figure: &Self| figure.read_ns].map(|time| {
            let times = floor.map_or(f64::NAN, |floor| time(self) / time(floor));
            format!("{} ns ({}x)", number(time(self)), number(times))
        });
        let (place, title, len, how) = (self.section, self.title(), number(self.bytes as f64), &self.how);
        format!("{place:?}: {title}: {len} B; written in {written}, read in {read}: {how}\n")
    }
}
