//! The changes in the numbers of the tensors of an output.

use super::losses::Losses;
use safetensors_convert::numbers::Report;

/// So many are held before all but the worst are summed.
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

    fn sum_others(&mut self) {
        let losses = Losses::of(&self.held.iter().map(|(_, report)| Some(report)).collect::<Vec<_>>());
        let mut shown = losses.shown.into_iter();
        self.held.retain(|_| shown.next().unwrap_or(true));
        if let Some((count, sum)) = losses.others {
            self.others.0 += count;
            self.others.1.add(&sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HELD, Reports};
    use safetensors_convert::numbers::Report;

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
