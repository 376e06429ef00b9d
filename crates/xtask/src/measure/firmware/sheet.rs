//! A sheet: named figures for one target at one level.

use super::is_counted;
use crate::measure::limits::Place;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub struct Sheet {
    pub target: &'static str,
    pub level: &'static str,
    pub compiler: String,
    figures: BTreeMap<String, f64>,
    /// The instructions of paths, in the order in which they were counted.
    counts: Vec<(String, u64)>,
}

impl Sheet {
    pub fn new(target: &'static str, level: &'static str, compiler: String) -> Self {
        Self { target, level, compiler, figures: BTreeMap::new(), counts: Vec::new() }
    }

    pub fn set(&mut self, name: impl Into<String>, value: f64) {
        self.figures.insert(name.into(), value);
    }

    /// Sets a figure unless it is already larger.
    pub fn set_largest(&mut self, name: &str, value: f64) {
        let known = self.find(name).unwrap_or(value);
        self.set(name, value.max(known));
    }

    pub fn count(&mut self, path: String, instructions: u64) {
        self.counts.push((path, instructions));
    }

    pub fn find(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }

    pub fn get(&self, name: &str) -> Result<f64, String> {
        self.find(name)
            .ok_or_else(|| format!("{name} of {}, opt-level {}, was not measured", self.target, self.level))
    }

    /// Returns the counted paths, if this target and level have limits for them.
    pub fn place(&self) -> Option<Place> {
        is_counted(self.target, self.level).then(|| Place {
            name: format!("{}, {}", self.target, self.level),
            compiler: self.compiler.clone(),
            unit: "instructions",
            counts: self.counts.clone(),
        })
    }

    /// Returns the sheet as a JSON object.
    pub fn json(&self) -> Value {
        let Self { target, level, compiler, figures, counts } = self;
        let counts: BTreeMap<_, _> = counts.iter().cloned().collect();
        json!({
            "target": target, "opt_level": level, "compiler": compiler,
            "figures": figures, "instructions": counts
        })
    }
}
