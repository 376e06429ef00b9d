//! `cargo xtask test [STAGE…]`: everything that must hold, stage by stage.

use super::Command;
use crate::report::Report;
use crate::stages::{STAGES, Stage};
use std::process::ExitCode;

pub const COMMAND: Command =
    Command { name: "test", about: "test everything (--list: the stages; STAGE…: only these)", run };

fn run(words: &[String]) -> Result<ExitCode, String> {
    if words.iter().any(|word| word == "--list") {
        return list();
    }
    Ok(run_stages(&chosen(words)?))
}

fn list() -> Result<ExitCode, String> {
    for stage in &STAGES {
        println!("{:12}{}", stage.name, stage.about);
    }
    Ok(ExitCode::SUCCESS)
}

/// The named stages in their usual order; all of them when none is named.
fn chosen(names: &[String]) -> Result<Vec<&'static Stage>, String> {
    let known = |name: &String| STAGES.iter().any(|stage| stage.name == name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        return Err(format!("there is no stage \"{name}\"; `cargo xtask test --list` lists them"));
    }
    let wanted = |stage: &&Stage| names.is_empty() || names.iter().any(|name| name == stage.name);
    Ok(STAGES.iter().filter(wanted).collect())
}

/// A failed stage does not stop the ones behind it: one run tells a developer everything.
fn run_stages(stages: &[&'static Stage]) -> ExitCode {
    let mut report = Report::new();
    for stage in stages {
        report.stage(stage.name, stage.about, stage.run);
    }
    report.print()
}
