//! How fast tensors are read as values, against a plain copy of those values in the same run.

use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;

/// Other programs on the machine can only make a ratio worse, so the best of so many runs counts.
const RUNS: usize = 5;

pub fn measure() -> Outcome {
    let mut best = run()?;
    for _ in 1..RUNS {
        if best.iter().all(Ratio::is_kept) {
            break;
        }
        best = better(best, run()?);
    }
    let mut tally = Tally::default();
    for ratio in &best {
        tally.check(&ratio.sentence(), ratio.judge());
        tally.notes.push(ratio.sentence());
    }
    Ok(tally)
}

/// One line of what the program printed: what was read, how many times as long as a copy that took, and how many
/// times it may.
struct Ratio {
    what: String,
    ratio: f64,
    most: Option<f64>,
}

impl Ratio {
    fn parse(line: &str) -> Option<Self> {
        let (what, figures) = line.split_once(": ")?;
        let figure = |name| {
            figures.split(' ').find_map(|word| word.strip_prefix(name)).and_then(|word| word.parse().ok())
        };
        Some(Self { what: what.to_owned(), ratio: figure("ratio=")?, most: figure("most=") })
    }

    fn is_kept(&self) -> bool {
        self.most.is_none_or(|most| self.ratio <= most)
    }

    fn sentence(&self) -> String {
        let limit = self.most.map_or(String::new(), |most| format!(", at most {most}"));
        format!("{}: {:.2} times as long as a copy{limit}", self.what, self.ratio)
    }

    fn judge(&self) -> Result<(), String> {
        if self.is_kept() { Ok(()) } else { Err(format!("too slow in each of {RUNS} runs")) }
    }
}

fn run() -> Result<Vec<Ratio>, String> {
    let output = speed().capture()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let ratios: Option<Vec<Ratio>> = text.lines().map(Ratio::parse).collect();
    match ratios {
        Some(ratios) if ratios.iter().any(|ratio| ratio.most.is_some()) => Ok(ratios),
        _ => Err(format!("this is no list of ratios:\n{text}")),
    }
}

fn speed() -> Run {
    own_cargo().args(["run", "--release", "--quiet", "--package", "verification", "--bin", "speed"])
}

fn better(one: Vec<Ratio>, other: Vec<Ratio>) -> Vec<Ratio> {
    let pairs = one.into_iter().zip(other);
    pairs.map(|(one, other)| if other.ratio < one.ratio { other } else { one }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_took_how_long() {
        let line = "F16 to f32, 4 KiB of output: ratio=1.31 most=1.3";
        let ratio = Ratio::parse(line).expect("it is one");
        assert!(!ratio.is_kept() && ratio.judge().is_err());
        assert_eq!(
            ratio.sentence(),
            "F16 to f32, 4 KiB of output: 1.31 times as long as a copy, at most 1.3"
        );
        assert!(Ratio::parse("I8 to f32: ratio=9").is_some_and(|ratio| ratio.is_kept()));
        assert!(Ratio::parse("warning: unused").is_none());
    }

    #[test]
    fn the_better_of_two_runs_counts() {
        let run = |ratio| vec![Ratio { what: String::new(), ratio, most: None }];
        assert_eq!(
            [better(run(1.0), run(2.0)), better(run(2.0), run(1.0))].map(|best| best[0].ratio),
            [1.0; 2]
        );
    }
}
