//! The commands; the longer ones have their own files.

mod api;
mod fuzz;
mod lint;
mod measure;
mod test;

use crate::report::Report;
use crate::{boards, demo, machine, python, stages};
use std::collections::BTreeSet;
use std::process::ExitCode;

/// A command: its name, a one-line description, and the function that runs it with its arguments.
pub struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<ExitCode, String>,
}

static COMMANDS: [Command; 11] = [
    Command {
        name: "demo",
        about: "run a board that reads digits (--board BOARD: which one; --list: all boards)",
        run: show_demo,
    },
    test::COMMAND,
    Command {
        name: "firmware",
        about: "run the boards (BOARD…: only these; --bless: update the golden files; --list: all boards)",
        run: run_firmware,
    },
    measure::COMMAND,
    lint::COMMAND,
    fuzz::COMMAND,
    api::COMMAND,
    Command {
        name: "vectors",
        about: "regenerate tests/vectors, with the reference's verdicts",
        run: |words| succeed(words, "vectors", stages::write_vectors),
    },
    Command {
        name: "tables",
        about: "regenerate tests/elements/tables.safetensors",
        run: |words| succeed(words, "tables", || python::generator("tests/elements/make.py")?.check()),
    },
    Command {
        name: "oracle",
        about: "compare by hand with frameworks, aprender or interop (FRAMEWORK…: rewrite only these of tests/interop)",
        run: python::oracle,
    },
    Command { name: "help", about: "show this list, or describe one command", run: help },
];

/// Runs the command that the first argument names; `help` without arguments.
pub fn run(words: &[String]) -> Result<ExitCode, String> {
    let (name, rest) = words.split_first().map_or(("help", &[][..]), |(name, rest)| (name.as_str(), rest));
    let asks_for_help = |word: &str| ["--help", "-h"].contains(&word);
    match named(name) {
        Ok(command) if rest.iter().any(|word| asks_for_help(word)) => help(&[command.name.to_owned()]),
        Ok(command) => (command.run)(rest),
        Err(_) if asks_for_help(name) => help(&[]),
        Err(sentence) => Err(sentence),
    }
}

fn named(name: &str) -> Result<&'static Command, String> {
    COMMANDS
        .iter()
        .find(|command| command.name == name)
        .ok_or_else(|| format!("there is no command \"{name}\"; `cargo xtask help` lists them"))
}

const HELP: &str = "
Each command sets up what it needs: Rust targets with `rustup target add`, or Debian's own compiler where
rustup cannot provide them; programs with apt-get when root on Debian; packages of Python and npm in the
target directory. On other systems it prints what to run.

Options of every command:
  --no-install            report what is missing, and install nothing

Environment:
  XTASK_COMPILER=debian   build for other targets with Debian's compiler even if rustup has the target";

fn help(words: &[String]) -> Result<ExitCode, String> {
    if let [name, ..] = words {
        let Command { name, about, .. } = named(name)?;
        println!("cargo xtask {name}: {about}");
        return Ok(ExitCode::SUCCESS);
    }
    println!("Usage: cargo xtask COMMAND\n");
    COMMANDS.iter().for_each(|command| println!("  {:10}{}", command.name, command.about));
    println!("{HELP}");
    Ok(ExitCode::SUCCESS)
}

/// Rejects arguments for a command that takes none.
fn no_words(words: &[String], name: &str) -> Result<(), String> {
    match words {
        [] => Ok(()),
        [word, ..] => Err(format!("unexpected argument \"{word}\"; usage: cargo xtask {name}")),
    }
}

fn succeed(words: &[String], name: &str, run: fn() -> Result<(), String>) -> Result<ExitCode, String> {
    no_words(words, name)?;
    run().map(|()| ExitCode::SUCCESS)
}

/// Returns an error with each of these sentences once.
fn say_missing(missing: impl IntoIterator<Item = String>) -> Result<(), String> {
    let missing: Vec<String> = missing.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    if missing.is_empty() { Ok(()) } else { Err(missing.join("\nxtask: ")) }
}

fn show_demo(words: &[String]) -> Result<ExitCode, String> {
    const DEFAULT: &str = "lm3s6965";
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--list"] => demo::list()?,
        [] => demo::show(boards::find(DEFAULT)?)?,
        ["--board", name] => demo::show(boards::find(name)?)?,
        ref words => {
            let words = words.join(" ");
            return Err(format!(
                "unexpected arguments \"{words}\"; usage: cargo xtask demo [--list | --board BOARD]"
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run_firmware(words: &[String]) -> Result<ExitCode, String> {
    let (flags, names): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('-'));
    let bless = match flags.iter().map(|flag| flag.as_str()).collect::<Vec<_>>()[..] {
        [] => false,
        ["--bless"] => true,
        ["--list"] if names.is_empty() => return demo::list().map(|()| ExitCode::SUCCESS),
        _ => {
            let words = words.join(" ");
            let usage = "cargo xtask firmware [--list | [BOARD…] [--bless]]";
            return Err(format!("unexpected arguments \"{words}\"; usage: {usage}"));
        }
    };
    let named: Result<Vec<_>, String> = names.iter().map(|name| boards::find(name)).collect();
    let named = if names.is_empty() { boards::boards()?.iter().collect() } else { named? };
    if machine::installs_nothing() {
        say_missing(named.iter().filter_map(|board| board.prepare().err()))?;
    }
    let words = words.join(" ");
    let mut report = Report::new(move |_| format!("cargo xtask firmware {words}").trim_end().to_owned());
    report.stage("firmware", "every board prints what is expected", || boards::some(named, bless));
    Ok(report.print(None))
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, run};
    use crate::process::Run;
    use crate::stages::STAGES;

    fn run_words(words: &str) -> Result<(), String> {
        run(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).map(drop)
    }

    #[test]
    fn every_command_has_help_and_reports_unknown_words() {
        for name in COMMANDS.iter().map(|command| command.name) {
            assert_eq!(run_words(&format!("{name} --help")).and(run_words(&format!("help {name}"))), Ok(()));
            let sentence = run_words(&format!("{name} sise")).expect_err(name);
            assert!(!sentence.contains('\n') && sentence.contains(['"', '`', ':']), "{sentence}");
        }
        assert_eq!(run_words("-h").and(run_words("")), Ok(()));
        for words in [
            "sise",
            "sise --help",
            "--fast",
            "test --fast",
            "test --deep boards",
            "test --list boards",
            "demo --board sise",
            "firmware --fast",
            "firmware --list sise",
        ] {
            assert!(run_words(words).is_err_and(|sentence| !sentence.contains('\n')), "{words}");
        }
    }

    #[test]
    fn commands_and_stages_named_in_pages_and_sources_exist() {
        let named = |pattern: &str, least: usize| {
            let found = Run::new("git").args(["grep", "-ohE", pattern]).capture().unwrap();
            let found = String::from_utf8(found.stdout).unwrap();
            let names = found.lines().filter_map(|line| line.rsplit(' ').next()).map(str::to_owned);
            let names: Vec<String> = names.collect();
            assert!(names.len() > least, "{found}");
            names
        };
        for name in named("cargo xtask [a-z]+", 50) {
            assert!(COMMANDS.iter().any(|command| command.name == name), "there is no command {name}");
        }
        for name in named("cargo xtask test [a-z][a-z0-9-]+", 10) {
            assert!(STAGES.iter().any(|stage| stage.name == name), "there is no stage {name}");
        }
    }

    #[test]
    fn names_of_stages_are_unique() {
        let mut names = STAGES.map(|stage| stage.name).to_vec();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
