//! One line of what the program printed.

use crate::budget::{json_number, json_text, number};

/// What is compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Memory,
    InPlace,
    File,
    Durable,
}

impl Section {
    const NAMES: [(Self, &'static str); 4] = [
        (Self::Memory, "memory"),
        (Self::InPlace, "in place"),
        (Self::File, "file"),
        (Self::Durable, "durable"),
    ];

    fn parse(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(_, known)| *known == name).map(|(section, _)| section)
    }

    fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(section, _)| *section == self).map_or("", |(_, name)| name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Floor,
    Ours,
    Reference,
    Other,
}

impl Whose {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "floor" => Self::Floor,
            "ours" => Self::Ours,
            "reference" => Self::Reference,
            "other" => Self::Other,
            _ => return None,
        })
    }
}

/// One way to write the vector and to read it, and the nanoseconds that both take.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub section: Section,
    pub whose: Whose,
    pub name: String,
    pub how: String,
    pub len: u64,
    pub write: f64,
    pub read: f64,
}

impl Figure {
    pub fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split('\t').collect();
        let [section, whose, name, how, len, write, read] = words[..] else { return None };
        Some(Self {
            section: Section::parse(section)?,
            whose: Whose::parse(whose)?,
            name: name.to_owned(),
            how: how.to_owned(),
            len: len.parse().ok()?,
            write: write.parse().ok()?,
            read: read.parse().ok()?,
        })
    }

    /// The same with the better times of two runs.
    pub fn better(self, other: &Self) -> Self {
        Self { write: self.write.min(other.write), read: self.read.min(other.read), ..self }
    }

    pub fn json(&self) -> String {
        format!(
            r#"{{"where":{},"name":{},"how":{},"bytes":{},"write_ns":{},"read_ns":{}}}"#,
            json_text(self.section.name()),
            json_text(&self.name),
            json_text(&self.how),
            self.len,
            json_number(self.write),
            json_number(self.read)
        )
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
        let [written, read] = [|figure: &Self| figure.write, |figure: &Self| figure.read].map(|time| {
            let times = floor.map_or(f64::NAN, |floor| time(self) / time(floor));
            format!("{} ns ({}x)", number(time(self)), number(times))
        });
        let (place, title, len, how) =
            (self.section.name(), self.title(), number(self.len as f64), &self.how);
        format!("{place}: {title}: {len} B; written in {written}, read in {read}: {how}\n")
    }
}
