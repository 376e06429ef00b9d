//! How fast tensors are read as values and written, against a plain copy of the same bytes in the same run.

use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::toolchain::own_cargo;

/// Other programs on the machine can only make things slower, so the best times of so many runs count.
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

/// One line of what the program printed: what was done, how long that and a copy took, and how many times as long it
/// may.
struct Ratio {
    what: String,
    ours: f64,
    copying: f64,
    most: Option<f64>,
}

impl Ratio {
    fn parse(line: &str) -> Option<Self> {
        let (what, figures) = line.split_once(": ")?;
        let figure = |name| {
            figures.split(' ').find_map(|word| word.strip_prefix(name)).and_then(|word| word.parse().ok())
        };
        let (ours, copying) = (figure("ours=")?, figure("copying=")?);
        Some(Self { what: what.to_owned(), ours, copying, most: figure("most=") })
    }

    fn ratio(&self) -> f64 {
        self.ours / self.copying
    }

    fn is_kept(&self) -> bool {
        self.most.is_none_or(|most| self.ratio() <= most)
    }

    fn sentence(&self) -> String {
        let limit = self.most.map_or(String::new(), |most| format!(", at most {most}"));
        format!("{}: {:.2} times as long as a copy{limit}", self.what, self.ratio())
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
    let best = |one: Ratio, other: Ratio| Ratio {
        ours: one.ours.min(other.ours),
        copying: one.copying.min(other.copying),
        ..one
    };
    one.into_iter().zip(other).map(|(one, other)| best(one, other)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_took_how_long() {
        let line = "F16 to f32, 4 KiB of output: ours=131 copying=100 most=1.3";
        let ratio = Ratio::parse(line).expect("it is one");
        assert!(!ratio.is_kept() && ratio.judge().is_err());
        assert_eq!(
            ratio.sentence(),
            "F16 to f32, 4 KiB of output: 1.31 times as long as a copy, at most 1.3"
        );
        assert!(Ratio::parse("I8 to f32: ours=9 copying=1").is_some_and(|ratio| ratio.is_kept()));
        assert!(Ratio::parse("warning: unused").is_none());
    }

    #[test]
    fn the_best_times_of_two_runs_count() {
        let run = |ours, copying| vec![Ratio { what: String::new(), ours, copying, most: None }];
        assert_eq!(better(run(1.0, 9.0), run(3.0, 2.0))[0].ratio(), 0.5);
    }
}
