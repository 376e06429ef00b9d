//! `safetensors man`: prints the man pages.

use crate::CommandLine;
use crate::commands::Run;
use crate::complaint::{Complaint, Outcome};
use crate::exit::Exit;
use crate::text::{did_you_mean, quoted};
use clap::{Command, CommandFactory};
use std::io::{Write, stdout};

/// Print the man page of the program, or of one of its commands
///
/// To read it: safetensors man | man -l -
#[derive(clap::Args)]
pub struct Man {
    /// The command whose page is printed [default: the program]
    command: Option<String>,
}

impl Run for Man {
    fn run(self) -> Outcome {
        let page = page(self.command.as_deref())?;
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text)?;
        stdout().write_all(&text)?;
        Ok(Exit::Good)
    }
}

/// What the page describes.
fn page(command: Option<&str>) -> Result<Command, Complaint> {
    // A page has the text of the rare options, too.
    let mut program = CommandLine::command().mut_args(|arg| arg.hide_short_help(false));
    // Gives the pages of commands their titles, such as `safetensors-check`.
    program.build();
    let Some(name) = command else { return Ok(program) };
    let found = program.get_subcommands().find(|known| known.get_name() == name).cloned();
    found.ok_or_else(|| {
        let hint = did_you_mean(name, program.get_subcommands().map(Command::get_name));
        Complaint::usage(format!("no command {}{hint}", quoted(name)))
    })
}
