//! How fast this machine does what `benches/` has cases of: ours, the reference and floors, which take turns in one run.

mod ratios;

use super::limits::{Limits, REFERENCE};
use super::row::table;
use super::table::{Difference, Likeness, Table};
use super::{Measured, Options, number};
use crate::process::Run;
use crate::stages::pages;
use crate::toolchain::own_cargo;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What was measured of one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Case {
    what: String,
    #[serde(flatten)]
    amount: Amount,
    /// Who did it, and how many nanoseconds that took. We are the first.
    times: Vec<(String, f64)>,
}

/// What each call works on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Amount {
    Bytes(f64),
    Tensors(f64),
}

/// A row that breaks its limit in each of so many runs does break it.
const RUNS: usize = 5;

/// The pages that show the limits. Times are those of one machine.
const PAGES: [&str; 2] = [pages::COSTS, "benches/report/README.md"];
const LIMITS: Likeness = Likeness { equal: 2, others: Difference::Any };

const OURS: &str = "ours";

pub fn measure(options: &Options) -> Result<Measured, String> {
    let limits = Limits::read()?.speed;
    // Without pages to write, only the cases that have limits.
    let wanted = if options.pages { Vec::new() } else { ratios::cases(&limits) };
    let (rows, cases) = ratios::measure(&limits, &wanted)?;
    Ok(Measured {
        tables: PAGES.map(|page| shown_in(page, &table(&rows))).into(),
        text: cases.iter().map(Case::line).collect(),
        details: json!({ "cases": cases, "least": ratios::least(&limits) }),
        rows,
        ..Measured::default()
    })
}

fn shown_in(page: &'static str, text: &str) -> Table {
    Table { page, name: "desktop", text: text.to_owned(), likeness: LIMITS }
}

/// Measures the cases whose names begin with one of these; all when there is none.
fn run(wanted: &[&str]) -> Result<Vec<Case>, String> {
    let output = program().args(wanted).capture()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let cases = text.lines().map(serde_json::from_str).collect::<Result<Vec<Case>, _>>();
    match cases {
        Ok(cases) if !cases.is_empty() && cases.iter().all(Case::is_sound) => Ok(cases),
        _ => Err(format!("this is no list of measurements:\n{text}")),
    }
}

fn program() -> Run {
    let verification = ["run", "--release", "--quiet", "--package", "verification", "--features", "bench"];
    own_cargo().args(verification).args(["--bin", "bench", "--"])
}

impl Case {
    /// Whether it has times, and ours first.
    fn is_sound(&self) -> bool {
        self.times.first().is_some_and(|(name, _)| name == OURS)
            && self.times.iter().all(|(_, nanos)| *nanos > 0.0)
    }

    /// The nanoseconds of one of the contenders.
    fn nanos(&self, name: &str) -> Option<f64> {
        self.times.iter().find(|(other, _)| other == name).map(|(_, nanos)| *nanos)
    }

    fn ours(&self) -> f64 {
        self.times.first().map_or(f64::NAN, |(_, nanos)| *nanos)
    }

    /// How many times as fast as the reference we are.
    fn gain(&self) -> Option<f64> {
        Some(self.nanos(REFERENCE)? / self.ours())
    }

    /// What is less work than anybody can do with.
    fn floors(&self) -> impl Iterator<Item = &(String, f64)> {
        self.times.iter().filter(|(name, _)| name != OURS && name != REFERENCE)
    }

    /// `check, …: 41,000 ns; 12.1x as fast as the reference; 0.100x the time of from_utf8`
    fn line(&self) -> String {
        let gain =
            self.gain().map_or(String::new(), |gain| format!("; {}x as fast as the reference", number(gain)));
        let floors = self
            .floors()
            .map(|(name, nanos)| format!("; {}x the time of {name}", number(self.ours() / nanos)));
        format!("{}: {} ns{gain}{}\n", self.what, number(self.ours()), floors.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_says_who_took_how_long() {
        let case: Case = serde_json::from_str(
            r#"{"what":"check, 1 tensors","tensors":1,"times":[["ours",20.5],["reference",410],["memcpy",2]]}"#,
        )
        .unwrap();
        assert_eq!((case.amount, case.ours(), case.gain()), (Amount::Tensors(1.0), 20.5, Some(20.0)));
        assert!(case.is_sound());
        for times in [vec![], vec![("reference", 1.0)], vec![("ours", 0.0)], vec![("ours", f64::NAN)]] {
            let times = times.into_iter().map(|(name, nanos)| (name.to_owned(), nanos)).collect();
            assert!(!Case { times, ..case.clone() }.is_sound());
        }
        assert_eq!(
            case.line(),
            "check, 1 tensors: 20.5 ns; 20x as fast as the reference; 10.2x the time of memcpy\n"
        );
    }
}
