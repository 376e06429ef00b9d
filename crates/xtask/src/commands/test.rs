//! `cargo xtask test [--deep] [STAGE…]`: all tests, as stages in two tiers.

use super::Command;
use crate::machine;
use crate::report::Report;
use crate::stages::{STAGES, Stage, Tier};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "test",
    about: "run the tests (--deep: the rest, exhaustive and slow; --list: the stages; STAGE…: only these)",
    run,
};

const USAGE: &str = "cargo xtask test [--deep | --list | STAGE…]";

fn run(words: &[String]) -> Result<ExitCode, String> {
    if words.iter().any(|word| word == "--list") {
        return match words {
            [_] => Ok(list()),
            _ => Err(format!("--list takes no other arguments; usage: {USAGE}")),
        };
    }
    let chosen = chosen(words)?;
    let mut report = Report::new(|stage| format!("cargo xtask test {stage}"));
    let missing: Vec<Vec<String>> = chosen.iter().map(|stage| stage.set_up()).collect();
    match super::say_missing(missing.iter().flatten().cloned()) {
        Err(sentences) if machine::installs_nothing() => return Err(sentences),
        Err(sentences) => eprintln!("xtask: {sentences}"),
        Ok(()) => {}
    }
    // A failed stage does not stop the later ones: one run reports everything.
    for (stage, missing) in chosen.iter().zip(&missing) {
        report.stage(stage.name, stage.about, || match missing.first() {
            None => stage.run(),
            Some(sentence) => Err(sentence.clone()),
        });
    }
    let is_left = |stage: &&Stage| chosen.iter().all(|run| run.name != stage.name);
    let left = |tier, what: &str| {
        let stages = STAGES.iter().filter(|stage| stage.tier == tier).filter(is_left);
        let names: Vec<&str> = stages.map(|stage| stage.name).collect();
        if names.is_empty() { String::new() } else { format!("not run, {what}: {}\n", names.join(", ")) }
    };
    let remark = [
        left(Tier::Quick, "part of `cargo xtask test`"),
        left(Tier::Deep, "part of `cargo xtask test --deep`, which is exhaustive or slow"),
        "`cargo xtask test --list` describes them".to_owned(),
    ]
    .concat();
    Ok(report.print(Some(&remark)))
}

fn list() -> ExitCode {
    for (tier, heading) in [(Tier::Quick, "cargo xtask test"), (Tier::Deep, "cargo xtask test --deep")] {
        println!("{heading}");
        for stage in STAGES.iter().filter(|stage| stage.tier == tier) {
            println!("  {:18}{}", stage.name, stage.about);
        }
    }
    ExitCode::SUCCESS
}

/// Returns the named stages in the order of the list; all of one tier if none is named.
fn chosen(words: &[String]) -> Result<Vec<&'static Stage>, String> {
    let (flags, names): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('-'));
    if let Some(flag) = flags.iter().find(|flag| **flag != "--deep") {
        return Err(format!("unknown option \"{flag}\"; usage: {USAGE}"));
    }
    if !flags.is_empty() && !names.is_empty() {
        return Err(format!("--deep runs all deep stages and takes no STAGE; usage: {USAGE}"));
    }
    if let Some(name) = names.iter().find(|name| STAGES.iter().all(|stage| stage.name != **name)) {
        return Err(format!("there is no stage \"{name}\"; `cargo xtask test --list` lists them"));
    }
    let tier = if flags.is_empty() { Tier::Quick } else { Tier::Deep };
    let wanted = |stage: &&Stage| match names.is_empty() {
        true => stage.tier == tier,
        false => names.iter().any(|name| *name == stage.name),
    };
    Ok(STAGES.iter().filter(wanted).collect())
}
