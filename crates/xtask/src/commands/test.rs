//! `cargo xtask test [--deep] [STAGE…]`: everything that must hold, stage by stage, in two tiers.

use super::Command;
use crate::report::Report;
use crate::stages::{STAGES, Stage, Tier};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "test",
    about: "test a change (--deep: the rest, exhaustive and slow; --list: the stages; STAGE…: only these)",
    run,
};

fn run(words: &[String]) -> Result<ExitCode, String> {
    if words.iter().any(|word| word == "--list") {
        return list();
    }
    Ok(run_stages(&chosen(words)?))
}

fn list() -> Result<ExitCode, String> {
    for (tier, heading) in [(Tier::Quick, "cargo xtask test"), (Tier::Deep, "cargo xtask test --deep")] {
        println!("{heading}");
        for stage in STAGES.iter().filter(|stage| stage.tier == tier) {
            println!("  {:12}{}", stage.name, stage.about);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The named stages in their usual order; all of one tier when none is named.
fn chosen(words: &[String]) -> Result<Vec<&'static Stage>, String> {
    let (flags, names): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('-'));
    if let Some(flag) = flags.iter().find(|flag| **flag != "--deep") {
        return Err(format!("what is \"{flag}\"? usage: cargo xtask test [--deep] [--list] [STAGE…]"));
    }
    let known = |name: &String| STAGES.iter().any(|stage| stage.name == name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        return Err(format!("there is no stage \"{name}\"; `cargo xtask test --list` lists them"));
    }
    let tier = if flags.is_empty() { Tier::Quick } else { Tier::Deep };
    let wanted = |stage: &&Stage| match names.is_empty() {
        true => stage.tier == tier,
        false => names.iter().any(|name| *name == stage.name),
    };
    Ok(STAGES.iter().filter(wanted).collect())
}

/// A failed stage does not stop the ones behind it: one run tells a developer everything.
fn run_stages(stages: &[&'static Stage]) -> ExitCode {
    let mut report = Report::new(|stage| format!("cargo xtask test {stage}"));
    for stage in stages {
        report.stage(stage.name, stage.about, stage.run);
    }
    report.print(Some(&left_out(stages)))
}

/// What the other tier has, in a line.
fn left_out(stages: &[&Stage]) -> String {
    let is_run = |stage: &&Stage| stages.iter().any(|run| run.name == stage.name);
    let left: Vec<&str> = STAGES.iter().filter(|stage| !is_run(stage)).map(|stage| stage.name).collect();
    format!("not run: {} (`cargo xtask test --list` says what they do)", left.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Result<Vec<&'static str>, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Ok(chosen(&words)?.iter().map(|stage| stage.name).collect())
    }

    #[test]
    fn each_stage_is_in_one_tier_and_can_be_named() {
        let (quick, deep) = (names(&[]).unwrap(), names(&["--deep"]).unwrap());
        assert!(!quick.is_empty() && !deep.is_empty() && quick.len() + deep.len() == STAGES.len());
        for stage in &STAGES {
            assert_eq!(names(&[stage.name]).unwrap(), [stage.name]);
        }
        assert!(left_out(&[&STAGES[0]]).contains(STAGES[1].name));
    }

    #[test]
    fn what_is_not_known_is_said() {
        assert!(names(&["sise"]).unwrap_err().contains("no stage \"sise\""));
        assert!(names(&["--fast"]).unwrap_err().contains("--fast"));
    }
}
