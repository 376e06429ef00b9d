//! The commands.

use crate::generate::{self, GENERATED};
use crate::machine::Need;
use crate::process::Run;
use crate::report::{Outcome, Report};
use crate::stages::{self, FULL, QUICK, Stage, stages};
use crate::toolchain::own_cargo;
use crate::{boards, demo, fuzz, measure, minilm, python, release};
use std::process::ExitCode;

/// A command: its name, its arguments, a line about it, and the function that runs it with its arguments.
type Command = (&'static str, &'static str, &'static str, fn(&[&str]) -> Result<ExitCode, String>);

const COMMANDS: [Command; 12] = [
    (
        "test",
        "[--full | --list | STAGE…]",
        "test whether a change is right; --full: also everything else that guards a promise",
        test,
    ),
    (
        "demo",
        "[--list | BOARD | minilm [--f32] [--rv32] [TEXT]]",
        "run a board that reads digits; minilm: one that ranks sentences, with a model of 23 MB, or of 91 MB",
        show_demo,
    ),
    ("firmware", "[BOARD…] [--bless]", "run the boards; --bless: update the golden files", run_firmware),
    ("generate", "[NAME…]", "write what is made from other files; without a name: list it", run_generate),
    ("measure", "", "measure flash, RAM and instructions, and write the tables of the pages", run_measure),
    ("fuzz", fuzz::ARGUMENTS, "run a target of tests/fuzz/README.md, by default header", |words| {
        fuzz::run(words).map(|()| ExitCode::SUCCESS)
    }),
    ("coverage", "", "list the lines of the libraries that no test runs", |words| {
        alone(words, || find_gaps("coverage", &[]))
    }),
    (
        "mutants",
        "[DIRECTORY…]",
        "change the core in many places, and list the changes that no test notices",
        |words| find_gaps("mutants", words),
    ),
    ("oracle", python::ORACLES, "ask other frameworks, which take gigabytes", run_oracle),
    ("release", release::ARGUMENTS, "make what users install: crates, wheels, archives", release::make),
    (
        "verify",
        release::ARGUMENTS,
        "install and run what is in DIR, while the checkout is hidden",
        release::verify,
    ),
    ("help", "", "show this list", |words| alone(words, || Ok(help()))),
];

/// Begins an error that the usage of the command follows.
pub const USAGE: &str = "usage: ";

/// Runs the command that the first argument names; `help` without arguments.
pub fn run(words: &[&str]) -> Result<ExitCode, String> {
    let (name, rest) = words.split_first().map_or(("help", &[][..]), |(name, rest)| (*name, rest));
    if words.iter().any(|word| ["--help", "-h"].contains(word)) {
        return Ok(help());
    }
    let command = COMMANDS.iter().find(|command| command.0 == name);
    let (name, arguments, _, run) =
        command.ok_or_else(|| format!("there is no command \"{name}\"; `cargo xtask help` lists them"))?;
    run(rest).map_err(|sentence| match sentence.strip_prefix(USAGE) {
        Some(sentence) => format!("{sentence}; usage: cargo xtask {name} {arguments}"),
        None => sentence,
    })
}

fn help() -> ExitCode {
    println!("Usage: cargo xtask COMMAND\n");
    COMMANDS.iter().for_each(|(name, arguments, about, _)| println!("  {name} {arguments}\n      {about}"));
    println!(
        "\nEach command sets up what it needs: targets of Rust with rustup; programs with apt-get when root\n\
         runs it on Debian; packages of Python and npm in the target directory. Otherwise it prints what to run."
    );
    ExitCode::SUCCESS
}

fn unexpected(words: &[&str]) -> String {
    format!("{USAGE}unexpected arguments \"{}\"", words.join(" "))
}

/// Runs a command without arguments.
fn alone(words: &[&str], run: impl FnOnce() -> Result<ExitCode, String>) -> Result<ExitCode, String> {
    if words.is_empty() { run() } else { Err(unexpected(words)) }
}

/// Runs one stage and prints its report.
fn report(name: &'static str, run: impl FnOnce() -> Outcome) -> Result<ExitCode, String> {
    let mut report = Report::new();
    report.stage(name, "", run);
    Ok(report.print("cargo xtask"))
}

fn test(words: &[&str]) -> Result<ExitCode, String> {
    if words == ["--list"] {
        return Ok(list());
    }
    let stages = chosen(words)?;
    let mut report = Report::new();
    let missing: Vec<Result<(), String>> = stages.iter().map(|stage| stage.set_up()).collect();
    missing.iter().filter_map(|missing| missing.as_ref().err()).for_each(|why| eprintln!("xtask: {why}"));
    // A failed stage does not stop the later ones: one run reports everything.
    for (stage, missing) in stages.iter().zip(missing) {
        report.stage(stage.name, stage.about, || missing.and_then(|()| stage.run()));
    }
    Ok(report.print("cargo xtask test"))
}

fn list() -> ExitCode {
    for (heading, stages) in [("", &QUICK[..]), (" --full: also", &FULL)] {
        println!("cargo xtask test{heading}");
        stages.iter().for_each(|stage| println!("  {:12}{}", stage.name, stage.about));
    }
    ExitCode::SUCCESS
}

/// Returns the named stages in the order of the list; the quick ones if none is named.
fn chosen(words: &[&str]) -> Result<Vec<&'static Stage>, String> {
    match words {
        [] => return Ok(QUICK.iter().collect()),
        ["--full"] => return Ok(stages().collect()),
        _ => {}
    }
    match words.iter().find(|word| stages().all(|stage| stage.name != **word)) {
        Some(word) if word.starts_with('-') => Err(unexpected(words)),
        Some(word) => {
            Err(format!("{USAGE}there is no stage \"{word}\"; `cargo xtask test --list` lists them"))
        }
        None => Ok(stages().filter(|stage| words.contains(&stage.name)).collect()),
    }
}

fn show_demo(words: &[&str]) -> Result<ExitCode, String> {
    match words {
        ["--list"] => demo::list()?,
        [] => demo::show(boards::find("lm3s6965")?)?,
        ["minilm", words @ ..] => minilm::show(words)?,
        [name] => demo::show(boards::find(name)?)?,
        words => return Err(unexpected(words)),
    }
    Ok(ExitCode::SUCCESS)
}

fn run_firmware(words: &[&str]) -> Result<ExitCode, String> {
    let (flags, names): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    let named: Result<Vec<_>, String> = names.iter().map(|name| boards::find(name)).collect();
    let named = if names.is_empty() { boards::boards()?.iter().collect() } else { named? };
    match flags[..] {
        [] | ["--bless"] => report("firmware", || boards::some(named, !flags.is_empty())),
        _ => Err(unexpected(words)),
    }
}

fn run_measure(words: &[&str]) -> Result<ExitCode, String> {
    alone(words, || stages::set_up("costs").and_then(|()| report("measure", || measure::costs(true))))
}

fn run_oracle(words: &[&str]) -> Result<ExitCode, String> {
    match words {
        [name] if python::ORACLES.split(" | ").any(|known| known == *name) => {
            report("oracle", || python::oracle(name))
        }
        words => Err(unexpected(words)),
    }
}

/// Runs a command of the package that knows the sources and their tests; it may take hours.
fn find_gaps(command: &str, words: &[&str]) -> Result<ExitCode, String> {
    Need::Rust("nightly").set_up()?;
    Run::new("rustup").words("component add --toolchain nightly llvm-tools").check()?;
    let run = own_cargo().words("run --quiet --locked --package gaps --").args([command]);
    run.args(words).limit(6 * 60 * 60).check().map(|()| ExitCode::SUCCESS)
}

fn run_generate(names: &[&str]) -> Result<ExitCode, String> {
    if names.is_empty() {
        GENERATED.iter().for_each(|one| println!("  {:12}{}", one.name, one.about));
        return Ok(ExitCode::SUCCESS);
    }
    let found: Result<Vec<_>, String> = names.iter().map(|name| generate::find(name)).collect();
    let mut report = Report::new();
    found?.into_iter().for_each(|one| report.stage(one.name, one.about, || one.write()));
    Ok(report.print("cargo xtask generate"))
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, Run, run};
    use crate::generate::GENERATED;
    use crate::python;
    use crate::stages::stages;

    #[test]
    fn unknown_words_end_in_one_sentence() {
        let commands = "sise; --fast; test --fast; test --full workspace; demo sise; demo minilm --fast; \
            firmware --fast; generate sise; measure sise; fuzz sise; coverage sise; oracle sise";
        for words in commands.split("; ") {
            let sentence = run(&words.split(' ').collect::<Vec<_>>()).expect_err(words);
            assert!(!sentence.contains('\n') && sentence.contains('"'), "{sentence}");
        }
    }

    #[test]
    fn commands_stages_and_generators_named_in_pages_and_sources_exist() {
        let named = |pattern: &str, known: &[&str], least: usize| {
            let found = Run::new("git").args(["grep", "-ohE", pattern]).stdout().unwrap();
            let names: Vec<&str> = found.lines().filter_map(|line| line.rsplit(' ').next()).collect();
            assert!(names.len() >= least, "{found}");
            names.iter().for_each(|name| assert!(known.contains(name), "{pattern}: {name}"));
        };
        named("cargo xtask [a-z]+", &COMMANDS.map(|command| command.0), 20);
        named("cargo xtask test [a-z][a-z0-9-]+", &stages().map(|stage| stage.name).collect::<Vec<_>>(), 1);
        named("cargo xtask oracle [a-z]+", &python::ORACLES.split(" | ").collect::<Vec<_>>(), 1);
        named("cargo xtask generate [a-z][a-z0-9-]+", &GENERATED.map(|one| one.name), 1);
    }
}
