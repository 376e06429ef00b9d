//! `safetensors completions`: prints shell completion scripts.

use crate::CommandLine;
use crate::commands::Run;
use crate::complaint::Outcome;
use crate::exit::Exit;
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use std::io::{Write, stdout};

/// Print a shell completion script
///
/// For bash: safetensors completions bash > ~/.local/share/bash-completion/completions/safetensors
#[derive(clap::Args)]
pub struct Completions {
    /// Shell to complete for
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
