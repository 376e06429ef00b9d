//! The tensors that a cast has changed most.

use safetensors_convert::numbers::Report;

/// The most tensors of a table: thousands of lines hide those that matter.
const SHOWN: usize = 50;

/// The changes in the numbers of each tensor of an output, if it was cast.
pub type Reports = Vec<Option<Report>>;

/// The changes of some tensors, by index, and the number of all others, with their changes together.
type Shown<'r> = (Vec<(usize, &'r Report)>, Option<(u64, Report)>);

/// Chooses the worst: those with numbers that were clamped, became infinite or are NaN, then those with the
/// largest errors.
pub fn worst(reports: &[Option<Report>]) -> Shown<'_> {
    let all = reports.iter().enumerate().filter_map(|(index, report)| Some((index, report.as_ref()?)));
    let (mut shown, mut sum) = (all.collect::<Vec<_>>(), Report::default());
    let is_special = |report: &Report| report.overflowed + report.clamped + report.nans > 0;
    // Those that are equally bad stay in order.
    shown.sort_by(|(_, one), (_, other)| {
        is_special(other).cmp(&is_special(one)).then(other.max_error.total_cmp(&one.max_error))
    });
    let others = shown.split_off(SHOWN.min(shown.len()));
    others.iter().for_each(|(_, report)| sum.add(report));
    shown.sort_by_key(|(index, _)| *index);
    (shown, (!others.is_empty()).then_some((others.len() as u64, sum)))
}

#[cfg(test)]
mod tests {
    use super::{SHOWN, worst};
    use safetensors_convert::numbers::Report;

    fn report(error: f64, nans: u64) -> Option<Report> {
        let mut report = Report::default();
        report.see(error, false);
        report.nans = nans;
        Some(report)
    }

    #[test]
    fn special_numbers_are_worse_than_errors_and_equals_stay_in_order() {
        let mut reports = vec![report(1.0, 0); SHOWN];
        reports.push(None);
        let (shown, others) = worst(&reports);
        assert_eq!((shown.len(), others), (SHOWN, None));
        reports.extend([report(0.5, 0), report(0.0, 1), report(2.0, 0)]);
        let (shown, others) = worst(&reports);
        let indexes: Vec<usize> = shown.iter().map(|(index, _)| *index).collect();
        assert_eq!(indexes, (0..48).chain([52, 53]).collect::<Vec<usize>>());
        let (count, sum) = others.expect("others");
        assert_eq!((count, sum.values, sum.inexact, sum.max_error), (3, 3, 3, 1.0));
    }
}
