//! A row: a measured figure, its limit, and the reference's figure.

use super::number;
use serde_json::{Value, json};

/// The limit of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Limit {
    fn allows(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }

    const fn value(self) -> f64 {
        match self {
            Self::AtMost(value) | Self::AtLeast(value) => value,
        }
    }

    /// Formats it for a table: `≤ 6,144 B`.
    pub fn sign(self, unit: &str) -> String {
        let sign = if matches!(self, Self::AtMost(_)) { '≤' } else { '≥' };
        format!("{sign} {}", with_unit(self.value(), unit))
    }
}

/// A figure.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub what: String,
    /// The limit; `None` if the figure is only shown.
    pub limit: Option<Limit>,
    /// Whether `limits.toml` marks the limit as unmet. Such a row does not fail; it fails when its limit is
    /// met, so that the list of unmet limits only gets shorter.
    pub unmet: bool,
    pub ours: f64,
    /// The suffix of the number, such as `B`; `x` for ratios; empty for counts.
    pub unit: String,
    /// The same figure of the reference.
    pub reference: Option<f64>,
}

impl Row {
    /// Whether the figure is within its limit; NaN is not.
    pub fn is_kept(&self) -> bool {
        self.limit.is_none_or(|limit| limit.allows(self.ours))
    }

    /// Returns an error unless the limit is kept, or marked as unmet.
    pub fn judge(&self) -> Result<(), String> {
        match (self.is_kept(), self.unmet) {
            (true, false) | (false, true) => Ok(()),
            (false, false) => Err("it is outside its limit".to_owned()),
            (true, true) => Err("it is met: remove it from `unmet` in benches/limits.toml".to_owned()),
        }
    }

    /// Formats all of it on one line: `flash, opt s: 5,120 B, ≤ 6,144 B; the reference 53,016 B`.
    pub fn sentence(&self) -> String {
        let limit = self.limit.map_or(String::new(), |limit| format!(", {}", limit.sign(&self.unit)));
        let reference = self
            .reference
            .map_or(String::new(), |value| format!("; the reference {}", with_unit(value, &self.unit)));
        format!("{}: {}{limit}{reference}", self.what, with_unit(self.ours, &self.unit))
    }

    /// Returns the row as a JSON object.
    pub fn json(&self) -> Value {
        let mut object =
            json!({ "what": self.what, "ours": self.ours, "unit": self.unit, "kept": self.is_kept() });
        if self.unmet {
            object["unmet"] = true.into();
        }
        let (at_most, at_least) = match self.limit {
            Some(Limit::AtMost(most)) => (Some(most), None),
            Some(Limit::AtLeast(least)) => (None, Some(least)),
            None => (None, None),
        };
        for (name, value) in [("at_most", at_most), ("at_least", at_least), ("reference", self.reference)] {
            if let Some(value) = value {
                object[name] = value.into();
            }
        }
        object
    }

    /// Returns its line in a table: name, limit, our figure, the reference's figure.
    pub fn line(&self) -> String {
        format!(
            "| {} | {} | {} | {} |\n",
            self.what,
            self.shown_limit(),
            self.shown(),
            self.shown_reference()
        )
    }

    pub fn shown_limit(&self) -> String {
        self.limit.map_or("–".to_owned(), |limit| limit.sign(&self.unit))
    }

    /// Formats the reference's figure, or a dash.
    pub fn shown_reference(&self) -> String {
        self.reference.map_or("–".to_owned(), |value| with_unit(value, &self.unit))
    }

    /// Formats our figure, with a mark if the limit is not kept.
    pub fn shown(&self) -> String {
        let ours = with_unit(self.ours, &self.unit);
        if self.is_kept() { ours } else { format!("{ours}, **unmet**") }
    }
}

/// Returns the table of the rows, with its head.
pub fn table(rows: &[Row]) -> String {
    let lines: String = rows.iter().map(Row::line).collect();
    format!("| what | limit | here | reference |\n|---|---|---|---|\n{lines}")
}

/// Formats a number with its unit.
pub fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" => number(value),
        "x" | "%" => format!("{}{unit}", number(value)),
        _ => format!("{} {unit}", number(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flash(ours: f64) -> Row {
        let limit = Some(Limit::AtMost(6144.0));
        let (what, unit) = ("flash".to_owned(), "B".to_owned());
        Row { what, limit, ours, unit, reference: Some(53016.0), unmet: false }
    }

    #[test]
    fn a_limit_includes_its_value() {
        assert!(flash(6144.0).is_kept() && !flash(6144.5).is_kept());
        let fast = |ours| Row { limit: Some(Limit::AtLeast(12.0)), ours, ..flash(0.0) };
        assert!(fast(12.0).is_kept() && !fast(11.9).is_kept());
        assert!(!flash(f64::NAN).is_kept() && !fast(f64::NAN).is_kept());
        assert!(Row { limit: None, ..flash(1e9) }.is_kept());
    }

    #[test]
    fn a_row_marked_unmet_passes_only_while_unmet() {
        let unmet = |ours| Row { unmet: true, ..flash(ours) };
        assert_eq!([flash(1.0).judge(), unmet(9999.0).judge()], [Ok(()), Ok(())]);
        assert!(flash(9999.0).judge().is_err());
        assert!(unmet(1.0).judge().unwrap_err().contains("remove it"));
    }

    #[test]
    fn rows_have_a_sentence_a_line_and_json() {
        assert_eq!(flash(5120.0).sentence(), "flash: 5,120 B, ≤ 6,144 B; the reference 53,016 B");
        assert_eq!(flash(6145.0).line(), "| flash | ≤ 6,144 B | 6,145 B, **unmet** | 53,016 B |\n");
        let told = Row { limit: None, reference: None, unit: String::new(), ..flash(3.0) };
        assert_eq!(told.line(), "| flash | – | 3 | – |\n");
        let expected = json!({
            "what": "flash", "ours": 6200.5, "unit": "B",
            "at_most": 6144.0, "reference": 53016.0, "kept": false
        });
        assert_eq!(flash(6200.5).json(), expected);
    }
}
