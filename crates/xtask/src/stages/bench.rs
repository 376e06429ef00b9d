//! What has a limit on a desktop: how many times as fast as the reference it is, or how near to a floor, in the same run.

use crate::bench::budgets;
use crate::report::{Outcome, Tally};

/// Other programs on the machine can only make things slower, so a row that is kept in one of so many runs is kept.
const RUNS: usize = 5;

pub fn judge() -> Outcome {
    let mut tally = Tally::default();
    for row in budgets::measure_limited(RUNS)? {
        let sentence = if row.is_kept() { row.sentence() } else { format!("unmet: {}", row.sentence()) };
        tally.check(&sentence, row.judge().map_err(|sentence| format!("{sentence}, in each of {RUNS} runs")));
        tally.notes.push(sentence);
    }
    Ok(tally)
}
