//! Compares ratios of times from one run with the limits of speed.

use super::{Case, RUNS, run};
use crate::measure::limits::{REFERENCE, Ratio};
use crate::measure::row::Row;
use std::collections::BTreeMap;

/// Returns the names of the cases that have limits.
pub fn cases(limits: &[Ratio]) -> Vec<&str> {
    limits.iter().flat_map(|limit| &limit.cases).map(String::as_str).collect()
}

/// Returns how many times faster than the reference each case has to be.
pub fn least(limits: &[Ratio]) -> BTreeMap<&str, Option<f64>> {
    limits.iter().flat_map(|limit| limit.cases.iter().map(|case| (case.as_str(), limit.at_least))).collect()
}

/// Measures the cases whose names begin with one of these, all if there is none, and compares them with the
/// limits. Other programs on the computer can only make a case slower, so the cases of a broken row are
/// measured again, at most [`RUNS`] times; the first run within the limit counts.
pub fn measure(limits: &[Ratio], names: &[&str]) -> Result<(Vec<Row>, Vec<Case>), String> {
    let mut measured = run(names)?;
    for _ in 1..RUNS {
        let mut broken = Vec::new();
        for limit in limits {
            if !limit.row(&measured)?.is_kept() {
                broken.push(limit);
            }
        }
        if broken.is_empty() {
            break;
        }
        let again =
            run(&broken.iter().flat_map(|limit| &limit.cases).map(String::as_str).collect::<Vec<_>>())?;
        for limit in broken {
            if limit.row(&again)?.is_kept() {
                replace(&mut measured, &again, &limit.cases);
            }
        }
    }
    let rows = limits.iter().map(|limit| limit.row(&measured)).collect::<Result<_, _>>()?;
    Ok((rows, measured))
}

/// Replaces the cases of these names by those of a later run.
fn replace(cases: &mut [Case], again: &[Case], names: &[String]) {
    for case in cases.iter_mut().filter(|case| names.contains(&case.what)) {
        if let Some(other) = again.iter().find(|other| other.what == case.what) {
            case.clone_from(other);
        }
    }
}

impl Ratio {
    /// Returns the ratio of the worst of its cases.
    fn row(&self, cases: &[Case]) -> Result<Row, String> {
        let ratios = self.cases.iter().map(|what| self.ratio(what, cases)).collect::<Result<Vec<_>, _>>()?;
        let worst = match self.is_gain() {
            true => ratios.into_iter().fold(f64::INFINITY, f64::min),
            false => ratios.into_iter().fold(0.0, f64::max),
        };
        let reference = self.is_gain().then_some(1.0);
        Ok(Row {
            what: self.what.clone(),
            limit: self.limit(),
            ours: worst,
            unit: "x".to_owned(),
            reference,
            unmet: false,
        })
    }

    fn is_gain(&self) -> bool {
        self.beside == REFERENCE
    }

    /// Returns the ratio of the case with this name.
    fn ratio(&self, what: &str, cases: &[Case]) -> Result<f64, String> {
        let lacks =
            |missing: &str| format!("not measured: {missing} of \"{what}\", needed by \"{}\"", self.what);
        let case = cases.iter().find(|case| case.what == what).ok_or_else(|| lacks("any time"))?;
        let other = case.nanos(&self.beside).ok_or_else(|| lacks(&self.beside))?;
        Ok(if self.is_gain() { other / case.ours() } else { case.ours() / other })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Amount;
    use super::*;
    use crate::measure::limits::Limits;
    use crate::measure::row::table;

    fn limits() -> Vec<Ratio> {
        Limits::read().unwrap().speed
    }

    /// Returns the cases of a limit with these times, ours and the other's.
    fn cases_of(limit: &Ratio, times: &[(f64, f64)]) -> Vec<Case> {
        let case = |(what, (ours, other)): (&String, &(f64, f64))| Case {
            what: what.clone(),
            amount: Amount::Tensors(1.0),
            times: vec![("ours".to_owned(), *ours), (limit.beside.clone(), *other)],
        };
        limit.cases.iter().zip(times).map(case).collect()
    }

    #[test]
    fn a_row_takes_the_worst_case() {
        let limit = &limits()[0];
        let row = |times: &[(f64, f64)]| limit.row(&cases_of(limit, times)).expect("all cases");
        let kept = row(&[(1.0, 15.0), (1.0, 16.0), (2.0, 32.0)]);
        assert!(kept.ours == 15.0 && kept.is_kept());
        let broken = row(&[(1.0, 15.0), (1.0, 14.9), (1.0, 20.0)]);
        assert!(broken.ours == 14.9 && !broken.is_kept());
        let limits = limits();
        let floor = limits.iter().find(|limit| limit.beside == "copy").expect("a floor");
        assert!(floor.row(&cases_of(floor, &[(1.3, 1.0)])).unwrap().is_kept());
        assert!(!floor.row(&cases_of(floor, &[(1.31, 1.0)])).unwrap().is_kept());
    }

    #[test]
    fn a_case_that_was_not_measured_is_an_error() {
        for limit in limits() {
            let all = cases_of(&limit, &[(1.0, 100.0); 4]);
            assert!(limit.row(&all).is_ok());
            assert!(limit.row(&all[1..]).unwrap_err().contains(&limit.cases[0]));
            let mut without = all;
            without[0].times.truncate(1);
            assert!(limit.row(&without).unwrap_err().contains(&limit.beside));
        }
    }

    #[test]
    fn a_later_run_replaces_the_named_cases() {
        let limit = &limits()[2];
        let times = |least| [(1.0, least), (1.0, 7.0), (1.0, 8.0)];
        let (mut cases, again) = (cases_of(limit, &times(5.0)), cases_of(limit, &times(6.5)));
        replace(&mut cases, &again, &[]);
        assert_eq!(limit.row(&cases).unwrap().ours, 5.0);
        replace(&mut cases, &again, &limit.cases);
        assert_eq!(limit.row(&cases).unwrap().ours, 6.5);
    }

    #[test]
    fn pages_show_every_limit() {
        let row = |limit: &Ratio| limit.row(&cases_of(limit, &[(1.0, 1.0); 4])).unwrap();
        let text = table(&limits().iter().map(row).collect::<Vec<_>>());
        for page in super::super::PAGES {
            assert_eq!(super::super::shown_in(page, &text).check(), Ok(()));
        }
    }

    #[test]
    fn each_case_has_one_limit() {
        let limits = limits();
        for case in cases(&limits) {
            assert_eq!(cases(&limits).iter().filter(|other| **other == case).count(), 1, "{case}");
        }
    }
}
