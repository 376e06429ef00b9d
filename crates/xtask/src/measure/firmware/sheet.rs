//! Figures by their names, for one target at one level.

use crate::budget::{json_number, json_text};
use std::collections::BTreeMap;

pub struct Sheet {
    pub target: &'static str,
    pub triple: &'static str,
    pub level: &'static str,
    figures: BTreeMap<String, f64>,
}

impl Sheet {
    pub fn new(target: &'static str, triple: &'static str, level: &'static str) -> Self {
        Self { target, triple, level, figures: BTreeMap::new() }
    }

    pub fn set(&mut self, name: impl Into<String>, value: f64) {
        self.figures.insert(name.into(), value);
    }

    pub fn get(&self, name: &str) -> Result<f64, String> {
        let value = self.figures.get(name).copied();
        value
            .ok_or_else(|| format!("{} of {}, opt-level {}, was not measured", name, self.target, self.level))
    }

    /// One object.
    pub fn json(&self) -> String {
        let figures =
            self.figures.iter().map(|(name, value)| format!("{}:{}", json_text(name), json_number(*value)));
        format!(
            r#"{{"target":{},"triple":{},"opt_level":{},{}}}"#,
            json_text(self.target),
            json_text(self.triple),
            json_text(self.level),
            figures.collect::<Vec<_>>().join(",")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_by_its_name_or_missed() {
        let mut sheet = Sheet::new("Cortex-M3", "thumbv7m-none-eabi", "s");
        sheet.set("flash", 5120.0);
        assert_eq!(sheet.get("flash"), Ok(5120.0));
        assert_eq!(sheet.get("stack").unwrap_err(), "stack of Cortex-M3, opt-level s, was not measured");
        let due = r#"{"target":"Cortex-M3","triple":"thumbv7m-none-eabi","opt_level":"s","flash":5120}"#;
        assert_eq!(sheet.json(), due);
    }
}
