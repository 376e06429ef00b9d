//! `cargo xtask demo [--board BOARD] [--list]`: digits recognised by a board, to watch.

use super::Command;
use crate::{boards, demo};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "demo",
    about: "a board reads digits (--board BOARD: another one; --list: which there are)",
    run,
};

const USUAL: &str = "lm3s6965";

fn run(words: &[String]) -> Result<ExitCode, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--list"] => demo::list(),
        [] => demo::show(boards::find(USUAL)?)?,
        ["--board", name] => demo::show(boards::find(name)?)?,
        _ => return Err("usage: cargo xtask demo [--board BOARD] [--list]".to_owned()),
    }
    Ok(ExitCode::SUCCESS)
}
