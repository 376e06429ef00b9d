//! Budgets: what was measured, what it may be, what the reference takes; and the tables that show it.

mod number;
mod table;

pub use number::{json_number, json_text, number};
pub use table::{Likeness, check, compare, show, shown, write_table, write_text};

/// Rows that are not met yet, by their names: told as **unmet** wherever they are shown, and no failure of a stage of
/// `cargo xtask test`. One that is met fails there, so that this list only gets shorter.
pub const UNMET: [&str; 14] = [
    "flash, `s`, Cortex-M0+",
    "flash, `s`, Cortex-M3",
    "flash, `s`, RV32IMC",
    "RAM for 10 tensors, `s`, Cortex-M0+",
    "RAM for 10 tensors, `s`, Cortex-M3",
    "RAM for 10 tensors, `s`, RV32IMC",
    "RAM for 100 tensors, `s`, Cortex-M0+",
    "RAM for 100 tensors, `s`, Cortex-M3",
    "RAM for 100 tensors, `s`, RV32IMC",
    "RAM for 100,000 tensors, `s`, Cortex-M0+",
    "RAM for 100,000 tensors, `s`, Cortex-M3",
    "RAM for 100,000 tensors, `s`, RV32IMC",
    "instructions for a byte of the header: `open`, `3`, Cortex-M3",
    "instructions for a byte of the header: `find`, `3`, Cortex-M3",
];

/// An error when [`UNMET`] excuses what is none of these rows: the row has another name now, or is gone.
pub fn unmet_are_among(rows: &[Row]) -> Result<(), String> {
    are_among(&UNMET, rows)
}

fn are_among(unmet: &[&str], rows: &[Row]) -> Result<(), String> {
    let is_row = |name: &str| rows.iter().any(|row| row.limit.is_some() && row.what == name);
    match unmet.iter().find(|name| !is_row(name)) {
        None => Ok(()),
        Some(name) => Err(format!("the list UNMET excuses \"{name}\", but no such budget was measured")),
    }
}

/// What a figure may be.
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

    /// As in a sentence: `at most 6,144 B`.
    pub fn words(self, unit: &str) -> String {
        match self {
            Self::AtMost(most) => format!("at most {}", with_unit(most, unit)),
            Self::AtLeast(least) => format!("at least {}", with_unit(least, unit)),
        }
    }

    /// As in a table: `≤ 6,144 B`.
    pub fn sign(self, unit: &str) -> String {
        match self {
            Self::AtMost(most) => format!("≤ {}", with_unit(most, unit)),
            Self::AtLeast(least) => format!("≥ {}", with_unit(least, unit)),
        }
    }

    fn json(self) -> String {
        match self {
            Self::AtMost(most) => format!(r#""at_most":{}"#, json_number(most)),
            Self::AtLeast(least) => format!(r#""at_least":{}"#, json_number(least)),
        }
    }
}

/// One figure.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is of: the name by which [`UNMET`] knows it.
    pub what: String,
    /// What it may be; nothing where it is only told.
    pub limit: Option<Limit>,
    pub ours: f64,
    /// Behind the number, as `B`; `x` for ratios; nothing for counts.
    pub unit: &'static str,
    /// The same of the reference.
    pub reference: Option<f64>,
}

impl Row {
    /// Whether it is within its limit. What is no number is within none.
    pub fn is_kept(&self) -> bool {
        self.limit.is_none_or(|limit| limit.allows(self.ours))
    }

    /// All of it in one line: `flash, opt s: 5,120 B, at most 6,144 B; the reference 53,016 B`.
    pub fn sentence(&self) -> String {
        let limit = self.limit.map_or(String::new(), |limit| format!(", {}", limit.words(self.unit)));
        let reference = self
            .reference
            .map_or(String::new(), |value| format!("; the reference {}", with_unit(value, self.unit)));
        format!("{}: {}{limit}{reference}", self.what, with_unit(self.ours, self.unit))
    }

    /// What a stage says: a row that is not kept must be in [`UNMET`], and no other may.
    pub fn judge(&self) -> Result<(), String> {
        self.judge_against(&UNMET)
    }

    fn judge_against(&self, unmet: &[&str]) -> Result<(), String> {
        match (self.is_kept(), unmet.contains(&self.what.as_str())) {
            (true, false) | (false, true) => Ok(()),
            (false, false) => Err("the budget is exceeded".to_owned()),
            (true, true) => {
                Err("it is kept: strike it from the list UNMET in the front door's budgets".to_owned())
            }
        }
    }

    /// One object.
    pub fn json(&self) -> String {
        let limit = self.limit.map_or(String::new(), |limit| format!(",{}", limit.json()));
        let reference =
            self.reference.map_or(String::new(), |value| format!(r#","reference":{}"#, json_number(value)));
        format!(
            r#"{{"what":{},"ours":{},"unit":{}{limit}{reference},"kept":{}}}"#,
            json_text(&self.what),
            json_number(self.ours),
            json_text(self.unit),
            self.is_kept()
        )
    }

    /// Its line in a table: what, budget, ours, the reference.
    fn line(&self) -> String {
        let limit = self.limit.map_or("–".to_owned(), |limit| limit.sign(self.unit));
        format!("| {} | {limit} | {} | {} |\n", self.what, self.shown(), self.shown_reference())
    }

    /// The reference's figure, or a dash.
    pub fn shown_reference(&self) -> String {
        self.reference.map_or("–".to_owned(), |value| with_unit(value, self.unit))
    }

    /// Our figure, marked where it is not kept.
    pub fn shown(&self) -> String {
        let ours = with_unit(self.ours, self.unit);
        if self.is_kept() { ours } else { format!("{ours}, **unmet**") }
    }
}

/// The rows as an array of objects.
pub fn json(rows: &[Row]) -> String {
    format!("[{}]", rows.iter().map(Row::json).collect::<Vec<_>>().join(","))
}

fn with_unit(value: f64, unit: &str) -> String {
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
        Row { what: "flash".to_owned(), limit, ours, unit: "B", reference: Some(53016.0) }
    }

    #[test]
    fn a_limit_is_kept_up_to_itself() {
        assert!(flash(6144.0).is_kept() && !flash(6144.5).is_kept());
        let fast = |ours| Row { limit: Some(Limit::AtLeast(12.0)), ours, ..flash(0.0) };
        assert!(fast(12.0).is_kept() && !fast(11.9).is_kept());
        assert!(!flash(f64::NAN).is_kept() && !fast(f64::NAN).is_kept());
        assert!(Row { limit: None, ..flash(1e9) }.is_kept());
    }

    #[test]
    fn a_sentence_has_everything() {
        assert_eq!(flash(5120.0).sentence(), "flash: 5,120 B, at most 6,144 B; the reference 53,016 B");
        let bare = Row { limit: Some(Limit::AtLeast(12.0)), reference: None, unit: "x", ..flash(16.26) };
        assert_eq!(bare.sentence(), "flash: 16.3x, at least 12x");
    }

    #[test]
    fn only_the_list_excuses_a_row_and_only_while_it_must() {
        assert_eq!(flash(1.0).judge_against(&[]), Ok(()));
        assert_eq!(flash(9999.0).judge_against(&["flash"]), Ok(()));
        assert!(flash(9999.0).judge_against(&["flash, opt s"]).is_err());
        assert!(flash(1.0).judge_against(&["flash"]).unwrap_err().contains("UNMET"));
    }

    #[test]
    fn nothing_is_excused_that_is_no_budget() {
        let told = Row { what: "RAM".to_owned(), limit: None, ..flash(1.0) };
        let rows = [flash(9999.0), told];
        assert_eq!(are_among(&["flash"], &rows), Ok(()));
        assert!(are_among(&["flash", "flash, opt s"], &rows).unwrap_err().contains("\"flash, opt s\""));
        assert!(are_among(&["RAM"], &rows).is_err(), "it has no limit");
    }

    #[test]
    fn json_is_what_the_row_is() {
        let row = Row { what: "a \"b\"".to_owned(), ..flash(6200.5) };
        let due =
            r#"{"what":"a \"b\"","ours":6200.5,"unit":"B","at_most":6144,"reference":53016,"kept":false}"#;
        assert_eq!(row.json(), due);
        assert_eq!(json(&[row.clone(), row]), format!("[{due},{due}]"));
    }

    #[test]
    fn a_line_marks_what_is_not_kept() {
        assert_eq!(flash(6145.0).line(), "| flash | ≤ 6,144 B | 6,145 B, **unmet** | 53,016 B |\n");
        let told = Row { limit: None, reference: None, unit: "", ..flash(3.0) };
        assert_eq!(told.line(), "| flash | – | 3 | – |\n");
    }
}
