//! The changes in the numbers of the tensors of an output.

use safetensors_convert::numbers::Report;
use std::cmp::Ordering;

/// The most tensors of a table: thousands of lines hide those that matter.
const SHOWN: usize = 50;

/// The most changes that are held. Then all but the worst are summed.
const HELD: usize = 4096;

/// The shown tensors, by index, and the number of all others, with their changes.
type Shown<'r> = (&'r [(u32, Report)], Option<&'r (u64, Report)>);

/// The changes of each tensor, or only those that a table shows.
pub struct Reports {
    keeps_all: bool,
    /// The number of tensors.
    len: u32,
    /// The indexes of tensors, and their changes.
    held: Vec<(u32, Report)>,
    /// The number of all others, and their changes together.
    others: (u64, Report),
}

impl Reports {
    /// Without all, memory does not grow with the number of tensors.
    pub fn new(keeps_all: bool) -> Self {
        Self { keeps_all, len: 0, held: Vec::new(), others: (0, Report::default()) }
    }

    /// Adds the changes of the next tensor, if it has some.
    pub fn push(&mut self, report: Option<Report>) {
        if let Some(report) = report {
            self.held.push((self.len, report));
        }
        self.len += 1;
        if !self.keeps_all && self.held.len() > HELD {
            self.sum_others();
        }
    }

    /// The changes of the tensor at this index, if they are held.
    pub fn get(&self, index: usize) -> Option<&Report> {
        let index = u32::try_from(index).ok()?;
        let at = self.held.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        self.held.get(at).map(|(_, report)| report)
    }

    /// Sums all that a table does not show, and returns the changes of the tensors that it shows, with their
    /// indexes, and the number of all others and their changes together.
    pub fn shown(&mut self) -> Shown<'_> {
        self.sum_others();
        (&self.held, Some(&self.others).filter(|(count, _)| *count > 0))
    }

    /// Keeps the worst: those with numbers that were clamped, became infinite or are NaN, then those with the
    /// largest errors.
    fn sum_others(&mut self) {
        // Those that are equally bad stay in order.
        self.held.sort_by(|(_, one), (_, other)| worse(one, other));
        for (_, report) in self.held.drain(SHOWN.min(self.held.len())..) {
            self.others.0 += 1;
            self.others.1.add(&report);
        }
        self.held.sort_by_key(|(index, _)| *index);
    }
}

fn worse(one: &Report, other: &Report) -> Ordering {
    let is_special = |report: &Report| report.overflowed + report.clamped + report.nans > 0;
    let special = is_special(other).cmp(&is_special(one));
    special.then(other.max_error.total_cmp(&one.max_error))
}

#[cfg(test)]
mod tests {
    use super::{HELD, Reports, SHOWN};
    use safetensors_convert::numbers::Report;

    fn report(error: f64, nans: u64) -> Option<Report> {
        let mut report = Report::default();
        report.see(error, false);
        report.nans = nans;
        Some(report)
    }

    #[test]
    fn special_numbers_are_worse_than_errors_and_equals_stay_in_order() {
        let mut reports = Reports::new(false);
        (0..SHOWN).for_each(|_| reports.push(report(1.0, 0)));
        reports.push(None);
        assert_eq!((reports.shown().0.len(), reports.shown().1), (SHOWN, None));
        [report(0.5, 0), report(0.0, 1), report(2.0, 0)].into_iter().for_each(|one| reports.push(one));
        let (held, others) = reports.shown();
        let indexes: Vec<u32> = held.iter().map(|(index, _)| *index).collect();
        assert_eq!(indexes, (0..48).chain([52, 53]).collect::<Vec<u32>>());
        let (count, sum) = others.expect("others");
        assert_eq!((*count, sum.values, sum.inexact, sum.max_error), (3, 3, 3, 1.0));
    }

    #[test]
    fn the_worst_of_all_are_shown_and_the_others_summed() {
        let (mut some, mut all) = (Reports::new(false), Reports::new(true));
        for index in 0..3_u32 * 5000 {
            let mut report = Report::default();
            report.see(f64::from(index % 5000), false);
            let report = (index != 7).then_some(report);
            some.push(report);
            all.push(report);
            assert!(some.held.len() <= HELD);
        }
        assert_eq!(
            (some.get(3), all.get(7), all.get(9999).map(|one| one.max_error)),
            (None, None, Some(4999.0))
        );
        let ((held, others), (of_all, others_of_all)) = (some.shown(), all.shown());
        assert_eq!((held, held.len()), (of_all, 50));
        let (count, sum) = others.expect("others");
        assert_eq!((*count, sum.values, sum.inexact), (14_949, 14_949, 14_946));
        assert_eq!(others_of_all.map(|(count, _)| *count), Some(*count));
    }
}
