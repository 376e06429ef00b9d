//! `safetensors completions`: what a shell needs to complete what is typed.

use crate::CommandLine;
use crate::commands::Run;
use crate::complaint::Outcome;
use crate::exit::Exit;
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use std::io::{Write, stdout};

/// Print the script that completes this command in a shell.
///
/// For bash: safetensors completions bash > ~/.local/share/bash-completion/completions/safetensors
#[derive(clap::Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Run for Completions {
    fn run(self) -> Outcome {
        let mut script = Vec::new();
        generate(self.shell, &mut CommandLine::command(), "safetensors", &mut script);
        stdout().write_all(&script)?;
        Ok(Exit::Good)
    }
}
