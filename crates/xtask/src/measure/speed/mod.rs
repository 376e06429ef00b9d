//! Measures the times of the cases in `benches/`: this library, the reference and floors take turns in one
//! run.

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

/// The times of one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Case {
    what: String,
    #[serde(flatten)]
    amount: Amount,
    /// The contenders with their nanoseconds; this library is the first.
    times: Vec<(String, f64)>,
}

/// The amount of work of one call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Amount {
    Bytes(f64),
    Tensors(f64),
}

/// A limit is broken only if all of this many runs break it.
const RUNS: usize = 5;

/// The pages that show the limits. Times are of one computer only.
const PAGES: [&str; 2] = [pages::COSTS, "benches/report/README.md"];
const LIMITS: Likeness = Likeness { equal: 2, others: Difference::Any };

const OURS: &str = "ours";

pub fn measure(options: &Options) -> Result<Measured, String> {
    let limits = Limits::read()?.speed;
    // Without pages to write, only the cases with limits are needed.
    let names = if options.pages { Vec::new() } else { ratios::cases(&limits) };
    let (rows, cases) = ratios::measure(&limits, &names)?;
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

/// Measures the cases whose names begin with one of these; all if there is none.
fn run(names: &[&str]) -> Result<Vec<Case>, String> {
    let output = program().args(names).capture()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let cases = text.lines().map(serde_json::from_str).collect::<Result<Vec<Case>, _>>();
    match cases {
        Ok(cases) if !cases.is_empty() && cases.iter().all(Case::is_valid) => Ok(cases),
        _ => Err(format!("the output is not a list of measurements:\n{text}")),
    }
}

fn program() -> Run {
    let verification = ["run", "--quiet", "--package", "verification", "--features", "bench"];
    own_cargo().args(verification).args(["--profile", "speed", "--bin", "bench", "--"])
}

impl Case {
    /// Whether it has times, and ours first.
    fn is_valid(&self) -> bool {
        self.times.first().is_some_and(|(name, _)| name == OURS)
            && self.times.iter().all(|(_, nanos)| *nanos > 0.0)
    }

    /// Returns the nanoseconds of one of the contenders.
    fn nanos(&self, name: &str) -> Option<f64> {
        self.times.iter().find(|(other, _)| other == name).map(|(_, nanos)| *nanos)
    }

    fn ours(&self) -> f64 {
        self.times.first().map_or(f64::NAN, |(_, nanos)| *nanos)
    }

    /// Returns how many times faster than the reference this library is.
    fn gain(&self) -> Option<f64> {
        Some(self.nanos(REFERENCE)? / self.ours())
    }

    /// Returns the floors: times of less work than any implementation can do.
    fn floors(&self) -> impl Iterator<Item = &(String, f64)> {
        self.times.iter().filter(|(name, _)| name != OURS && name != REFERENCE)
    }

    /// Returns a line such as `check, …: 41,000 ns; 12.1x as fast as the reference; 0.100x the time of
    /// from_utf8`.
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
    fn a_case_is_parsed_and_formatted() {
        let case: Case = serde_json::from_str(
            r#"{"what":"check, 1 tensors","tensors":1,
                "times":[["ours",20.5],["reference",410],["memcpy",2]]}"#,
        )
        .unwrap();
        assert_eq!((case.amount, case.ours(), case.gain()), (Amount::Tensors(1.0), 20.5, Some(20.0)));
        assert!(case.is_valid());
        for times in [vec![], vec![("reference", 1.0)], vec![("ours", 0.0)], vec![("ours", f64::NAN)]] {
            let times = times.into_iter().map(|(name, nanos)| (name.to_owned(), nanos)).collect();
            assert!(!Case { times, ..case.clone() }.is_valid());
        }
        assert_eq!(
            case.line(),
            "check, 1 tensors: 20.5 ns; 20x as fast as the reference; 10.2x the time of memcpy\n"
        );
    }
}
