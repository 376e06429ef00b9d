//! The commands, one file each.

mod demo;
mod firmware;
mod help;
mod lint;
mod measure;
mod tables;
mod test;
mod vectors;

use std::process::ExitCode;

/// One command: its name, what it does in one line, and how to run it with the words behind its name.
pub struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<ExitCode, String>,
}

static COMMANDS: [Command; 8] = [
    demo::COMMAND,
    test::COMMAND,
    firmware::COMMAND,
    measure::COMMAND,
    lint::COMMAND,
    vectors::COMMAND,
    tables::COMMAND,
    help::COMMAND,
];

/// Runs the command that the first word names; `help` when there is none.
pub fn run(words: &[String]) -> Result<ExitCode, String> {
    let (name, rest) = words.split_first().map_or(("help", &[][..]), |(name, rest)| (name.as_str(), rest));
    match named(name) {
        Ok(command) if rest.iter().any(|word| asks_for_help(word)) => Ok(help::print_one(command)),
        Ok(command) => (command.run)(rest),
        Err(_) if asks_for_help(name) => Ok(help::print()),
        Err(sentence) => Err(sentence),
    }
}

fn named(name: &str) -> Result<&'static Command, String> {
    COMMANDS
        .iter()
        .find(|command| command.name == name)
        .ok_or_else(|| format!("there is no command \"{name}\"; `cargo xtask help` lists them"))
}

fn asks_for_help(word: &str) -> bool {
    ["--help", "-h"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, run};

    fn succeeds(words: &[&str]) -> bool {
        run(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()).is_ok()
    }

    #[test]
    fn every_command_says_what_it_is() {
        for command in &COMMANDS {
            assert!(succeeds(&[command.name, "--help"]) && succeeds(&["help", command.name]));
        }
        assert!(succeeds(&["-h"]) && succeeds(&[]));
        assert!(!succeeds(&["sise", "--help"]) && !succeeds(&["help", "sise"]));
    }
}
