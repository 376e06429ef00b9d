//! What the cases may take.

use super::{Case, REFERENCE, measure};
use crate::budget::{Limit, Row};

/// Some cases, of which the worst is judged.
struct Budget {
    what: &'static str,
    /// Our time beside that of this contender: `reference` for how many times as fast we are, a floor for how many times as long it takes us.
    beside: &'static str,
    /// Nothing where it is only told.
    limit: Option<f64>,
    cases: &'static [&'static str],
}

/// How many times as fast as the reference, with a limit or without.
const fn gain(what: &'static str, limit: Option<f64>, cases: &'static [&'static str]) -> Budget {
    Budget { what, beside: REFERENCE, limit, cases }
}

/// How many times as long as a floor.
const fn floor(
    what: &'static str,
    beside: &'static str,
    most: f64,
    cases: &'static [&'static str],
) -> Budget {
    Budget { what, beside, limit: Some(most), cases }
}

/// The cases of headers of 1,000 tensors and more.
macro_rules! sizes {
    ($what:literal, $how:literal) => {
        &[
            concat!($what, ", 1000 tensors, ", $how),
            concat!($what, ", 10000 tensors, ", $how),
            concat!($what, ", 100000 tensors, ", $how),
        ]
    };
}

/// The cases of small models in a process that has opened none before.
macro_rules! cold {
    ($($by:literal),+) => {
        &[$(
            concat!("open cold, ", $by, ", canonical, 12 tensors"),
            concat!("open cold, ", $by, ", diverse, 12 tensors"),
        )+]
    };
}

#[rustfmt::skip]
const BUDGETS: [Budget; 20] = [
    gain("check, canonical header of 1,000 tensors and more, chunks of 4 KiB", Some(12.0), sizes!("check, canonical", "4 KiB chunks")),
    gain("check, diverse header of 1,000 tensors and more, chunks of 4 KiB", Some(12.0), sizes!("check, diverse", "4 KiB chunks")),
    gain("check, canonical header of 1,000 tensors and more, chunks of 64 B", Some(6.0), sizes!("check, canonical", "64 B chunks")),
    gain("check, diverse header of 1,000 tensors and more, chunks of 64 B", Some(6.0), sizes!("check, diverse", "64 B chunks")),
    gain("check, spaced header of 1,000 tensors and more, chunks of 4 KiB", Some(4.0), sizes!("check, spaced", "4 KiB chunks")),
    gain(
        "open with a full index and no name twice, in memory, canonical header of 1,000 tensors and more",
        Some(8.0),
        sizes!("open with index, canonical", "in memory"),
    ),
    gain(
        "open with a full index and no name twice, in memory, diverse header of 1,000 tensors and more",
        Some(8.0),
        sizes!("open with index, diverse", "in memory"),
    ),
    gain(
        "open with a full index and no name twice, through a window of 4 KiB, canonical header of 1,000 tensors and more",
        None,
        sizes!("open with index, canonical", "window of 4 KiB"),
    ),
    gain(
        "open with a full index and no name twice, through a window of 4 KiB, diverse header of 1,000 tensors and more",
        None,
        sizes!("open with index, diverse", "window of 4 KiB"),
    ),
    gain("first open in a process, 12 tensors in memory, by `View` and by `Model`", Some(3.0), cold!("view", "model")),
    gain("first open in a process, 12 tensors, by `Model` through a window of 4 KiB", None, cold!("model and window")),
    gain(
        "first open in a process, 12 tensors, by `Model` through a window of 4 KiB that nobody has touched",
        None,
        cold!("model and new window"),
    ),
    gain("first open in a process, 12 tensors, by `HeaderCheck`", None, cold!("header check")),
    gain(
        "first open in a process, 12 tensors, by `check`: the full verdict, names that occur twice included",
        None,
        cold!("full check"),
    ),
    floor("F16 to f32, 64 MiB of values, time of a plain copy of those", "copy", 1.3, &["F16 to f32, 64 MiB of values"]),
    floor("BF16 to f32, 64 MiB of values, time of a plain copy of those", "copy", 1.3, &["BF16 to f32, 64 MiB of values"]),
    floor(
        "stream a tensor from a file, buffers of 4 KiB to 1 MiB, time of the same block reads",
        "block reads",
        1.05,
        &[
            "stream from a file, buffer of 4 KiB, untouched",
            "stream from a file, buffer of 64 KiB, untouched",
            "stream from a file, buffer of 1 MiB, untouched",
        ],
    ),
    floor("open a map and sum a tensor of 64 MiB, time of the sum alone", "map", 1.1, &["open a map and sum a tensor of 64 MiB"]),
    floor("write 10,000 f32 to memory, header included, time of a plain copy of those", "copy", 1.2, &["write a vector of 10000 f32"]),
    floor("read 10,000 f32 from memory, header proven, time of a plain copy of those", "copy", 1.1, &["read a vector of 10000 f32"]),
];

/// The names of the cases that the rows are of.
pub fn cases() -> Vec<&'static str> {
    BUDGETS.iter().flat_map(|budget| budget.cases).copied().collect()
}

/// How many times as fast as the reference a case has to be, if it has to.
pub fn least(case: &str) -> Option<f64> {
    let budget = BUDGETS.iter().find(|budget| budget.beside == REFERENCE && budget.cases.contains(&case));
    budget.and_then(|budget| budget.limit)
}

/// A row for each budget. An error names the case that was not measured.
fn rows(cases: &[Case]) -> Result<Vec<Row>, String> {
    BUDGETS.iter().map(|budget| budget.row(cases)).collect()
}

/// Measures the cases whose names begin with one of these, all when there is none, and judges them. Other programs on the machine can only be in the
/// way, so the cases of a row that breaks its budget are measured again, up to so many times in all; what a row was kept by counts.
pub fn measure_and_judge(wanted: &[&str], runs: usize) -> Result<(Vec<Row>, Vec<Case>), String> {
    let mut cases = measure(wanted)?;
    for _ in 1..runs {
        let broken = broken(&cases)?;
        if broken.is_empty() {
            break;
        }
        let again = measure(&broken.iter().flat_map(|budget| budget.cases).copied().collect::<Vec<_>>())?;
        for budget in broken {
            if budget.row(&again)?.judge().is_ok() {
                replace(&mut cases, &again, budget.cases);
            }
        }
    }
    Ok((rows(&cases)?, cases))
}

/// The budgets that are not kept.
fn broken(cases: &[Case]) -> Result<Vec<&'static Budget>, String> {
    let judged = BUDGETS.iter().zip(rows(cases)?);
    Ok(judged.filter(|(_, row)| row.judge().is_err()).map(|(budget, _)| budget).collect())
}

/// Takes the cases of these names from a later run.
fn replace(cases: &mut [Case], again: &[Case], names: &[&str]) {
    for case in cases.iter_mut().filter(|case| names.contains(&case.what.as_str())) {
        if let Some(other) = again.iter().find(|other| other.what == case.what) {
            case.clone_from(other);
        }
    }
}

impl Budget {
    fn row(&self, cases: &[Case]) -> Result<Row, String> {
        let ratios = self.cases.iter().map(|what| self.ratio(what, cases)).collect::<Result<Vec<_>, _>>()?;
        let worst = match self.is_gain() {
            true => ratios.into_iter().fold(f64::INFINITY, f64::min),
            false => ratios.into_iter().fold(0.0, f64::max),
        };
        let (what, reference) = (self.what.to_owned(), self.is_gain().then_some(1.0));
        Ok(Row { what, limit: self.limit(), ours: worst, unit: "x", reference })
    }

    fn is_gain(&self) -> bool {
        self.beside == REFERENCE
    }

    fn limit(&self) -> Option<Limit> {
        self.limit.map(if self.is_gain() { Limit::AtLeast } else { Limit::AtMost })
    }

    /// That of the case of this name.
    fn ratio(&self, what: &str, cases: &[Case]) -> Result<f64, String> {
        let lacks = |missing: &str| {
            format!("nobody has measured {missing} of \"{what}\", which \"{}\" is of", self.what)
        };
        let case = cases.iter().find(|case| case.what == what).ok_or_else(|| lacks("any time"))?;
        let other = case.nanos(self.beside).ok_or_else(|| lacks(self.beside))?;
        Ok(if self.is_gain() { other / case.ours() } else { case.ours() / other })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Amount;
    use super::*;

    /// The first of its cases, with these times of ours and of the other.
    fn first(budget: &Budget, times: &[(f64, f64)]) -> Vec<Case> {
        let case = |(what, (ours, other)): (&&str, &(f64, f64))| Case {
            what: (*what).to_owned(),
            amount: Amount::Tensors(1.0),
            times: vec![("ours".to_owned(), *ours), (budget.beside.to_owned(), *other)],
        };
        budget.cases.iter().zip(times).map(case).collect()
    }

    /// All cases, each fast enough for any budget.
    fn all() -> Vec<Case> {
        BUDGETS
            .iter()
            .flat_map(|budget| match budget.beside {
                REFERENCE => first(budget, &[(1.0, 100.0); 4]),
                _ => first(budget, &[(1.0, 1.0); 4]),
            })
            .collect()
    }

    #[test]
    fn the_worst_case_is_judged() {
        let budget = &BUDGETS[0];
        let row = |times| budget.row(&first(budget, times)).expect("all are there");
        let kept = row(&[(1.0, 12.0), (1.0, 13.0), (2.0, 26.0)]);
        assert!(kept.ours == 12.0 && kept.is_kept());
        let broken = row(&[(1.0, 12.0), (1.0, 11.9), (1.0, 20.0)]);
        assert!(broken.ours == 11.9 && !broken.is_kept());
    }

    #[test]
    fn a_floor_is_a_time_to_keep_close_to() {
        let budget = BUDGETS.iter().find(|budget| budget.beside == "copy").expect("there is one");
        assert!(budget.row(&first(budget, &[(1.3, 1.0)])).expect("it is there").is_kept());
        assert!(!budget.row(&first(budget, &[(1.31, 1.0)])).expect("it is there").is_kept());
    }

    #[test]
    fn no_budget_goes_without_a_case_that_has_another_name() {
        assert_eq!(rows(&all()).map(|rows| rows.len()), Ok(BUDGETS.len()));
        for missing in cases() {
            let mut renamed = all();
            renamed.iter_mut().filter(|case| case.what == missing).for_each(|case| case.what.push('s'));
            assert!(rows(&renamed).unwrap_err().contains(missing), "{missing}");
            let mut without = all();
            without.iter_mut().filter(|case| case.what == missing).for_each(|case| case.times.truncate(1));
            assert!(rows(&without).unwrap_err().contains(missing), "{missing}");
        }
    }

    #[test]
    fn what_is_only_told_is_broken_by_nothing() {
        let told = BUDGETS.iter().find(|budget| budget.limit.is_none()).expect("there is one");
        let mut cases = all();
        replace(&mut cases, &first(told, &[(100.0, 1.0); 4]), told.cases);
        assert!(broken(&cases).is_ok_and(|broken| broken.is_empty()));
        let judged = &BUDGETS[0];
        replace(&mut cases, &first(judged, &[(100.0, 1.0); 4]), judged.cases);
        let broken = broken(&cases).expect("all are there");
        assert_eq!(broken.iter().map(|budget| budget.what).collect::<Vec<_>>(), [judged.what]);
    }

    #[test]
    fn the_pages_show_every_budget() {
        for page in ["README.md", "benches/report/README.md"] {
            let shown = crate::budget::shown(page, "desktop").expect("it has the table");
            for budget in &BUDGETS {
                let Some(limit) = budget.limit() else { continue };
                let row = format!("| {} | {} | ", budget.what, limit.sign("x"));
                assert!(shown.contains(&row), "{page} lacks {row}: `cargo xtask bench --write`");
            }
        }
    }

    #[test]
    fn what_a_row_was_kept_by_counts() {
        let budget = &BUDGETS[2];
        let times = |least| [(1.0, least), (1.0, 7.0), (1.0, 8.0)];
        let (mut cases, again) = (first(budget, &times(5.0)), first(budget, &times(6.5)));
        let least = |cases: &[Case]| budget.row(cases).expect("all are there").ours;
        replace(&mut cases, &again, &[]);
        assert_eq!(least(&cases), 5.0);
        replace(&mut cases, &again, budget.cases);
        assert_eq!(least(&cases), 6.5);
    }

    #[test]
    fn each_case_has_one_budget_and_each_budget_is_known_by_its_name() {
        for case in cases() {
            assert_eq!(cases().iter().filter(|other| **other == case).count(), 1, "{case}");
        }
        for Budget { what, .. } in &BUDGETS {
            assert_eq!(BUDGETS.iter().filter(|other| other.what == *what).count(), 1, "{what}");
        }
    }
}
