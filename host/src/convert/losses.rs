//! The losses that a table shows.

use safetensors_convert::numbers::Report;
use std::cmp::Ordering;

/// The most tensors of a table: thousands of lines hide those that matter.
pub const SHOWN: usize = 50;

/// The losses of several tensors, of which only the worst are shown.
pub struct Losses {
    /// For each tensor, whether it is shown.
    pub shown: Vec<bool>,
    /// The number of all others, and their losses together.
    pub others: Option<(u64, Report)>,
}

impl Losses {
    /// Chooses the worst: those with numbers that were clamped, became infinite or are NaN, then those with
    /// the largest errors.
    pub fn of(reports: &[Option<&Report>]) -> Self {
        let mut cast: Vec<(usize, &Report)> =
            reports.iter().enumerate().filter_map(|(index, report)| Some((index, (*report)?))).collect();
        // Those that are equally bad stay in order.
        cast.sort_by(|(_, one), (_, other)| worse(one, other));
        let mut shown = vec![false; reports.len()];
        cast.iter().take(SHOWN).for_each(|(index, _)| shown[*index] = true);
        let (mut count, mut sum) = (0, Report::default());
        for (_, report) in cast.iter().skip(SHOWN) {
            count += 1;
            sum.add(report);
        }
        Self { shown, others: (count > 0).then_some((count, sum)) }
    }
}

fn worse(one: &Report, other: &Report) -> Ordering {
    let is_special = |report: &Report| report.overflowed + report.clamped + report.nans > 0;
    let special = is_special(other).cmp(&is_special(one));
    special.then(other.max_error.total_cmp(&one.max_error))
}

#[cfg(test)]
mod tests {
    use super::{Losses, Report, SHOWN};

    #[test]
    fn the_worst_are_shown_and_the_others_summed() {
        let report = |error, nans| {
            let mut report = Report::default();
            report.see(error, false);
            report.nans = nans;
            report
        };
        let mut reports: Vec<Report> = (0..SHOWN).map(|_| report(1.0, 0)).collect();
        let few: Vec<Option<&Report>> = reports.iter().map(Some).chain([None]).collect();
        let losses = Losses::of(&few);
        assert_eq!((losses.shown, losses.others), ([vec![true; SHOWN], vec![false]].concat(), None));
        reports.extend([report(0.5, 0), report(0.0, 1), report(2.0, 0)]);
        let losses = Losses::of(&reports.iter().map(Some).collect::<Vec<_>>());
        let expected = [vec![true; SHOWN - 2], vec![false; 3], vec![true; 2]].concat();
        assert_eq!(losses.shown, expected);
        let (count, others) = losses.others.expect("others");
        assert_eq!((count, others.values, others.inexact, others.max_error), (3, 3, 3, 1.0));
    }
}
