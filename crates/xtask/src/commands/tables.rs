//! `cargo xtask tables`: writes the tables of what elements are anew.

use super::Command;
use crate::stages;
use std::process::ExitCode;

pub const COMMAND: Command =
    Command { name: "tables", about: "generate tests/elements/tables.safetensors anew", run };

fn run(_: &[String]) -> Result<ExitCode, String> {
    stages::generate_tables()?;
    Ok(ExitCode::SUCCESS)
}
