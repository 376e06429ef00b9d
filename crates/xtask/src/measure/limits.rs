//! The limits: `benches/limits.toml`.

use super::{Figures, REFERENCE};
use crate::report::Tally;
use crate::workspace;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A limit is the figure of the commit that set it, and this much more.
const MARGIN: f64 = 1.02;
/// A limit that is further above its figure can be lowered.
const LOOSE: f64 = 1.03;

#[derive(Deserialize)]
pub struct Limits {
    /// The compiler of the figures.
    pub compiler: String,
    /// By program, figure and target.
    #[serde(flatten)]
    programs: BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>>,
}

impl Limits {
    pub fn read() -> Result<Self, String> {
        let path = workspace::root().join("benches/limits.toml");
        toml::from_str(&workspace::text(&path)?).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn get(&self, program: &str, name: &str, target: &str) -> Option<f64> {
        self.programs.get(program)?.get(name)?.get(target).copied()
    }

    /// Judges a figure that a board prints.
    pub fn judge_one(&self, program: &str, name: &str, board: &str, value: f64) -> Result<(), String> {
        judge(value, self.get(program, name, board)).map(drop)
    }

    /// Counts each figure as a check. A figure without a limit fails; so does a limit without a figure, if
    /// its target was measured.
    pub(super) fn judge(&self, figures: &Figures, tally: &mut Tally) {
        for figure in figures.0.iter().filter(|figure| figure.program != REFERENCE) {
            let limit = self.get(figure.program, &figure.name, figure.target);
            let what = format!("{}: {} on {}", figure.program, figure.name, figure.target);
            let judged = judge(figure.value, limit);
            tally.check(&what, judged.clone().map(drop));
            if let Ok(Some(lower)) = judged {
                tally.note(format!("{what}: lower the limit to {lower}"));
            }
        }
        let limits = self.programs.iter().flat_map(|(program, names)| {
            names.iter().flat_map(move |(name, on)| on.keys().map(move |target| (program, name, target)))
        });
        for (program, name, target) in limits {
            let is_measured = figures.0.iter().any(|figure| figure.target == target);
            if is_measured && figures.get(program, name, target).is_none() {
                let sentence = "it has a limit, but no figure".to_owned();
                tally.check(&format!("{program}: {name} on {target}"), Err(sentence));
            }
        }
    }
}

/// Returns the lower limit that a figure allows; an error if it is above its limit.
fn judge(figure: f64, limit: Option<f64>) -> Result<Option<f64>, String> {
    let most = figure * MARGIN;
    let fitting = if most < 100.0 { (most * 10.0).ceil() / 10.0 } else { most.ceil() };
    match limit {
        None => Err(format!("{figure} has no limit; {fitting} would be 2 % more")),
        Some(limit) if figure > limit => Err(format!("{figure} is above the limit {limit}")),
        Some(limit) => Ok((figure * LOOSE < limit && fitting < limit).then_some(fitting)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_only_go_down() {
        assert_eq!(judge(1000.0, Some(1020.0)), Ok(None));
        assert_eq!(judge(1000.0, Some(1031.0)), Ok(Some(1020.0)));
        assert_eq!(judge(17.6, Some(20.0)), Ok(Some(18.0)));
        assert_eq!(judge(0.0, Some(0.0)), Ok(None));
        assert!(
            [(1021.0, Some(1020.0)), (1.0, Some(0.0)), (1.0, None)]
                .iter()
                .all(|(a, b)| judge(*a, *b).is_err())
        );
    }

    #[test]
    fn a_figure_and_a_limit_need_each_other() {
        let text = "compiler = 'rustc 1'\n[job]\nflash = { m3 = 5, m0 = 5 }\nRAM = { m3 = 5 }\n";
        let (limits, mut figures) = (toml::from_str::<Limits>(text).unwrap(), Figures::default());
        for (program, name) in [("job", "flash"), ("job", "open"), (REFERENCE, "flash")] {
            figures.set(program, name, "m3", 4.9);
        }
        let mut tally = Tally::default();
        limits.judge(&figures, &mut tally);
        assert_eq!((tally.passed, tally.failed), (1, 2));
    }
}
