//! `cargo xtask vectors`: writes the conformance vectors anew.

use super::Command;
use crate::stages;
use std::process::ExitCode;

pub const COMMAND: Command =
    Command { name: "vectors", about: "generate tests/vectors anew, with the reference's verdicts", run };

fn run(_: &[String]) -> Result<ExitCode, String> {
    stages::generate_vectors()?;
    Ok(ExitCode::SUCCESS)
}
