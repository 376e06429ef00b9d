//! What has a limit on a desktop: how many times as fast as the reference it is, or how near to a floor, in the same run.

use crate::bench::{RUNS, budgets};
use crate::report::{Outcome, Tally};

pub fn judge() -> Outcome {
    let mut tally = Tally::default();
    let (rows, _) = budgets::measure_and_judge(&budgets::cases(), RUNS)?;
    for row in rows {
        match row.limit {
            Some(_) => tally
                .judged(&row, row.judge().map_err(|sentence| format!("{sentence}, in each of {RUNS} runs"))),
            None => tally.note(row.sentence()),
        }
    }
    Ok(tally)
}
