//! The commands, one file each.

mod bench;
mod counts;
mod demo;
mod firmware;
mod formats;
mod help;
mod lint;
mod size;
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

const COMMANDS: [Command; 11] = [
    demo::COMMAND,
    test::COMMAND,
    bench::COMMAND,
    firmware::COMMAND,
    counts::COMMAND,
    size::COMMAND,
    lint::COMMAND,
    vectors::COMMAND,
    tables::COMMAND,
    formats::COMMAND,
    help::COMMAND,
];

/// Runs the command that the first word names; `help` when there is none.
pub fn run(words: &[String]) -> Result<ExitCode, String> {
    let (name, rest) = words.split_first().map_or(("help", &[][..]), |(name, rest)| (name.as_str(), rest));
    let command = COMMANDS.iter().find(|command| command.name == name);
    match command {
        Some(command) => (command.run)(rest),
        None if name == "--help" || name == "-h" => help::print(),
        None => Err(format!("there is no command \"{name}\"; `cargo xtask help` lists them")),
    }
}
