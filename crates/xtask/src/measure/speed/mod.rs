//! How fast this machine does what `benches/` has cases of: ours, the reference and floors, which take turns in one run.

pub mod budgets;
pub mod report;

use crate::budget::{json_number, json_text};
use crate::process::Run;
use crate::toolchain::own_cargo;

/// What was measured of one case.
#[derive(Clone, Debug)]
pub struct Case {
    pub what: String,
    pub amount: Amount,
    /// Who did it, and how many nanoseconds that took. We are the first.
    pub times: Vec<(String, f64)>,
}

/// What each call works on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    Bytes(f64),
    Tensors(f64),
}

/// A row that breaks its budget in each of so many runs does break it.
pub const RUNS: usize = 5;

pub const OURS: &str = "ours";
pub const REFERENCE: &str = "reference";

/// Measures the cases whose names begin with one of these; all when there is none.
pub fn measure(wanted: &[&str]) -> Result<Vec<Case>, String> {
    let output = program().args(wanted).capture()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let cases: Option<Vec<Case>> = text.lines().map(Case::parse).collect();
    cases.filter(|cases| !cases.is_empty()).ok_or_else(|| format!("this is no list of measurements:\n{text}"))
}

fn program() -> Run {
    let verification = ["run", "--release", "--quiet", "--package", "verification", "--features", "bench"];
    own_cargo().args(verification).args(["--bin", "bench", "--"])
}

impl Case {
    /// One line of what the program prints.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let what = fields.next()?.to_owned();
        let amount = match named(fields.next()?)? {
            ("bytes", bytes) => Amount::Bytes(bytes),
            ("tensors", tensors) => Amount::Tensors(tensors),
            _ => return None,
        };
        let times = fields.map(|field| named(field).map(|(name, nanos)| (name.to_owned(), nanos)));
        let times: Vec<_> = times.collect::<Option<_>>()?;
        times.first().is_some_and(|(name, _)| name == OURS).then_some(Self { what, amount, times })
    }

    /// The nanoseconds of one of the contenders.
    pub fn nanos(&self, name: &str) -> Option<f64> {
        self.times.iter().find(|(other, _)| other == name).map(|(_, nanos)| *nanos)
    }

    pub fn ours(&self) -> f64 {
        self.times.first().map_or(f64::NAN, |(_, nanos)| *nanos)
    }

    /// How many times as fast as the reference we are.
    pub fn gain(&self) -> Option<f64> {
        Some(self.nanos(REFERENCE)? / self.ours())
    }

    /// What is less work than anybody can do with.
    pub fn floors(&self) -> impl Iterator<Item = &(String, f64)> {
        self.times.iter().filter(|(name, _)| name != OURS && name != REFERENCE)
    }

    fn json(&self) -> String {
        let amount = match self.amount {
            Amount::Bytes(bytes) => format!(r#""bytes":{}"#, json_number(bytes)),
            Amount::Tensors(tensors) => format!(r#""tensors":{}"#, json_number(tensors)),
        };
        let times =
            self.times.iter().map(|(name, nanos)| format!("{}:{}", json_text(name), json_number(*nanos)));
        let times: Vec<_> = times.collect();
        let ratios = self
            .times
            .iter()
            .skip(1)
            .map(|(name, nanos)| format!("{}:{}", json_text(name), json_number(nanos / self.ours())));
        let ratios: Vec<_> = ratios.collect();
        let what = json_text(&self.what);
        let (times, ratios) = (times.join(","), ratios.join(","));
        format!(r#"{{"what":{what},{amount},"nanoseconds":{{{times}}},"times_as_fast_as":{{{ratios}}}}}"#)
    }
}

/// The cases as an array of objects.
pub fn json(cases: &[Case]) -> String {
    format!("[{}]", cases.iter().map(Case::json).collect::<Vec<_>>().join(","))
}

/// `name=1.5`
fn named(field: &str) -> Option<(&str, f64)> {
    let (name, number) = field.split_once('=')?;
    Some((name, number.parse().ok().filter(|number: &f64| *number > 0.0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "check, 1 tensors\ttensors=1\tours=20.50\treference=410\tmemcpy=2";

    #[test]
    fn a_line_says_who_took_how_long() {
        let case = Case::parse(LINE).expect("it is one");
        assert_eq!((case.what.as_str(), case.amount), ("check, 1 tensors", Amount::Tensors(1.0)));
        assert_eq!((case.ours(), case.gain()), (20.5, Some(20.0)));
        assert!(case.floors().eq(&[("memcpy".to_owned(), 2.0)]));
        assert_eq!(Case::parse("a\tbytes=8\tours=1").map(|case| case.gain()), Some(None));
    }

    #[test]
    fn what_is_no_measurement_is_not_taken_for_one() {
        for line in [
            "",
            "warning: unused",
            "a\ttensors=1",
            "a\ttensors=1\treference=2",
            "a\tours=1",
            "a\tbytes=1\tours=0",
        ] {
            assert!(Case::parse(line).is_none(), "{line}");
        }
    }

    #[test]
    fn json_has_times_and_ratios() {
        let case = Case::parse(LINE).expect("it is one");
        let due = concat!(
            r#"[{"what":"check, 1 tensors","tensors":1,"nanoseconds":{"ours":20.5,"reference":410,"memcpy":2},"#,
            r#""times_as_fast_as":{"reference":20,"memcpy":0.0975609756097561}}]"#
        );
        assert_eq!(json(&[case]), due);
    }
}
