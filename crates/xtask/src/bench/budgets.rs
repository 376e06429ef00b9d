//! What the cases may take.

use super::{Case, REFERENCE, measure};
use crate::budget::{Limit, Row};

/// A limit for some cases, of which the worst is judged.
struct Budget {
    what: &'static str,
    /// Our time beside that of this contender: `reference` for how many times as fast we are, a floor for how many times as long it takes us.
    beside: &'static str,
    limit: f64,
    cases: &'static [&'static str],
}

const BUDGETS: [Budget; 14] = [
    Budget {
        what: "check, canonical header of 1,000 tensors and more, chunks of 4 KiB",
        beside: REFERENCE,
        limit: 12.0,
        cases: &[
            "check, canonical, 1000 tensors, 4 KiB chunks",
            "check, canonical, 10000 tensors, 4 KiB chunks",
            "check, canonical, 100000 tensors, 4 KiB chunks",
        ],
    },
    Budget {
        what: "check, diverse header of 1,000 tensors and more, chunks of 4 KiB",
        beside: REFERENCE,
        limit: 12.0,
        cases: &[
            "check, diverse, 1000 tensors, 4 KiB chunks",
            "check, diverse, 10000 tensors, 4 KiB chunks",
            "check, diverse, 100000 tensors, 4 KiB chunks",
        ],
    },
    Budget {
        what: "check, canonical header of 1,000 tensors and more, chunks of 64 B",
        beside: REFERENCE,
        limit: 6.0,
        cases: &[
            "check, canonical, 1000 tensors, 64 B chunks",
            "check, canonical, 10000 tensors, 64 B chunks",
        ],
    },
    Budget {
        what: "check, diverse header of 1,000 tensors and more, chunks of 64 B",
        beside: REFERENCE,
        limit: 6.0,
        cases: &["check, diverse, 1000 tensors, 64 B chunks", "check, diverse, 10000 tensors, 64 B chunks"],
    },
    Budget {
        what: "check, spaced header of 1,000 tensors and more, chunks of 4 KiB",
        beside: REFERENCE,
        limit: 4.0,
        cases: &[
            "check, spaced, 1000 tensors, 4 KiB chunks",
            "check, spaced, 10000 tensors, 4 KiB chunks",
            "check, spaced, 100000 tensors, 4 KiB chunks",
        ],
    },
    Budget {
        what: "open with a full index and no name twice, canonical header of 1,000 tensors and more",
        beside: REFERENCE,
        limit: 8.0,
        cases: &[
            "open with index, canonical, 1000 tensors, in memory",
            "open with index, canonical, 10000 tensors, in memory",
            "open with index, canonical, 100000 tensors, in memory",
        ],
    },
    Budget {
        what: "open with a full index and no name twice, diverse header of 1,000 tensors and more",
        beside: REFERENCE,
        limit: 8.0,
        cases: &[
            "open with index, diverse, 1000 tensors, in memory",
            "open with index, diverse, 10000 tensors, in memory",
            "open with index, diverse, 100000 tensors, in memory",
        ],
    },
    Budget {
        what: "first open in a process, 12 tensors",
        beside: REFERENCE,
        limit: 3.0,
        cases: &[
            "open cold, view, canonical, 12 tensors",
            "open cold, view, diverse, 12 tensors",
            "open cold, model, canonical, 12 tensors",
            "open cold, model, diverse, 12 tensors",
        ],
    },
    Budget {
        what: "F16 to f32, 64 MiB of values, time of a plain copy of those",
        beside: "copy",
        limit: 1.3,
        cases: &["F16 to f32, 64 MiB of values"],
    },
    Budget {
        what: "BF16 to f32, 64 MiB of values, time of a plain copy of those",
        beside: "copy",
        limit: 1.3,
        cases: &["BF16 to f32, 64 MiB of values"],
    },
    Budget {
        what: "stream a tensor from a file, buffers of 4 KiB to 1 MiB, time of the same block reads",
        beside: "block reads",
        limit: 1.05,
        cases: &[
            "stream from a file, buffer of 4 KiB, untouched",
            "stream from a file, buffer of 64 KiB, untouched",
            "stream from a file, buffer of 1 MiB, untouched",
        ],
    },
    Budget {
        what: "open a map and sum a tensor of 64 MiB, time of the sum alone",
        beside: "map",
        limit: 1.1,
        cases: &["open a map and sum a tensor of 64 MiB"],
    },
    Budget {
        what: "write 10,000 f32 to memory, header included, time of a plain copy of those",
        beside: "copy",
        limit: 1.2,
        cases: &["write a vector of 10000 f32"],
    },
    Budget {
        what: "read 10,000 f32 from memory, header proven, time of a plain copy of those",
        beside: "copy",
        limit: 1.1,
        cases: &["read a vector of 10000 f32"],
    },
];

/// The names of the cases that have a limit.
pub fn limited() -> Vec<&'static str> {
    BUDGETS.iter().flat_map(|budget| budget.cases).copied().collect()
}

/// The names of the cases of the row of this name.
fn cases_of(what: &str) -> &'static [&'static str] {
    BUDGETS.iter().find(|budget| budget.what == what).map_or(&[], |budget| budget.cases)
}

/// How many times as fast as the reference a case has to be, if it has to.
pub fn least(case: &str) -> Option<f64> {
    let budget = BUDGETS.iter().find(|budget| budget.beside == REFERENCE && budget.cases.contains(&case));
    budget.map(|budget| budget.limit)
}

/// A row for each budget of which all cases were measured.
pub fn rows(cases: &[Case]) -> Vec<Row> {
    BUDGETS.iter().filter_map(|budget| budget.row(cases)).collect()
}

/// Measures the cases whose names begin with one of these, all when there is none, and judges them. Other programs on the machine can only be in the
/// way, so the cases of a row that breaks its budget are measured again, up to so many times in all; what a row was kept by counts.
pub fn measure_and_judge(wanted: &[&str], runs: usize) -> Result<(Vec<Row>, Vec<Case>), String> {
    let mut cases = measure(wanted)?;
    for _ in 1..runs {
        let broken = rows(&cases).into_iter().filter(|row| row.judge().is_err());
        let broken: Vec<&str> = broken.flat_map(|row| cases_of(&row.what)).copied().collect();
        if broken.is_empty() {
            break;
        }
        let again = measure(&broken)?;
        let kept = rows(&again).into_iter().filter(|row| row.judge().is_ok());
        replace(&mut cases, &again, &kept.flat_map(|row| cases_of(&row.what)).copied().collect::<Vec<_>>());
    }
    Ok((rows(&cases), cases))
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
    fn row(&self, cases: &[Case]) -> Option<Row> {
        let ratio = |what: &&str| {
            let case = cases.iter().find(|case| case.what == **what)?;
            Some(self.ratio(case.ours(), case.nanos(self.beside)?))
        };
        let ratios: Vec<f64> = self.cases.iter().map(ratio).collect::<Option<_>>()?;
        let (limit, reference) = match self.beside {
            REFERENCE => (Limit::AtLeast(self.limit), Some(1.0)),
            _ => (Limit::AtMost(self.limit), None),
        };
        let worst = match limit {
            Limit::AtLeast(_) => ratios.into_iter().fold(f64::INFINITY, f64::min),
            Limit::AtMost(_) => ratios.into_iter().fold(0.0, f64::max),
        };
        Some(Row { what: self.what.to_owned(), limit: Some(limit), ours: worst, unit: "x", reference })
    }

    fn ratio(&self, ours: f64, other: f64) -> f64 {
        if self.beside == REFERENCE { other / ours } else { ours / other }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Amount;
    use super::*;

    fn cases(budget: &Budget, times: &[(f64, f64)]) -> Vec<Case> {
        let case = |(what, (ours, other)): (&&str, &(f64, f64))| Case {
            what: (*what).to_owned(),
            amount: Amount::Tensors(1.0),
            times: vec![("ours".to_owned(), *ours), (budget.beside.to_owned(), *other)],
        };
        budget.cases.iter().zip(times).map(case).collect()
    }

    #[test]
    fn the_worst_case_is_judged() {
        let budget = &BUDGETS[0];
        let row =
            budget.row(&cases(budget, &[(1.0, 12.0), (1.0, 13.0), (2.0, 26.0)])).expect("all are there");
        assert!(row.ours == 12.0 && row.is_kept());
        let row =
            budget.row(&cases(budget, &[(1.0, 12.0), (1.0, 11.9), (1.0, 20.0)])).expect("all are there");
        assert!(row.ours == 11.9 && !row.is_kept());
        assert!(budget.row(&cases(budget, &[(1.0, 12.0)])).is_none(), "some are not there");
    }

    #[test]
    fn a_floor_is_a_time_to_keep_close_to() {
        let budget = BUDGETS.iter().find(|budget| budget.beside == "copy").expect("there is one");
        assert!(budget.row(&cases(budget, &[(1.3, 1.0)])).expect("it is there").is_kept());
        assert!(!budget.row(&cases(budget, &[(1.31, 1.0)])).expect("it is there").is_kept());
    }

    #[test]
    fn what_a_row_was_kept_by_counts() {
        let budget = &BUDGETS[2];
        let (mut cases, again) =
            (cases(budget, &[(1.0, 5.0), (1.0, 7.0)]), cases(budget, &[(1.0, 6.5), (1.0, 6.0)]));
        let least = |cases: &[Case]| budget.row(cases).expect("all are there").ours;
        replace(&mut cases, &again, &[]);
        assert_eq!(least(&cases), 5.0);
        replace(&mut cases, &again, budget.cases);
        assert_eq!(least(&cases), 6.0);
    }

    #[test]
    fn each_case_has_one_budget_and_each_budget_is_known_by_its_name() {
        for case in limited() {
            assert_eq!(limited().iter().filter(|other| **other == case).count(), 1, "{case}");
        }
        assert!(BUDGETS.iter().all(|budget| cases_of(budget.what) == budget.cases));
    }
}
