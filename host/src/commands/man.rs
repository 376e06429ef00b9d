//! `safetensors man`: prints the man pages.

use super::{ALIASES, Context, Exit, NAMES, Outcome, Run, command_line};
use crate::args::remote::{VARIABLES, reads_urls};
use crate::input::remote::check_output_directory;
use crate::output::directory::Folder;
use crate::output::file::Product;
use crate::text::{counted, shown_path};
use clap::Command;
use clap::builder::PossibleValue;
use clap_mangen::Man as Page;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

/// Print the man page of the program, or of one of its commands
///
/// To read it: safetensors man | man -l -
#[derive(clap::Args)]
pub struct Man {
    /// The command whose page is printed [default: the program]
    #[arg(value_parser = NAMES.map(named))]
    command: Option<String>,

    /// Write the pages of the program and of all its commands to this directory instead
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    output: Option<PathBuf>,

    /// Overwrite existing files
    #[arg(long, requires = "output")]
    force: bool,
}

fn named(name: &'static str) -> PossibleValue {
    PossibleValue::new(name).aliases(ALIASES.into_iter().filter(|_| name == "inspect"))
}

impl Run for Man {
    fn run(self, context: &Context) -> Outcome {
        let program = program();
        if let Some(folder) = &self.output {
            return write_all(context, &program, folder, self.force);
        }
        let found = self.command.and_then(|name| program.find_subcommand(name));
        stdout().write_all(&rendered(found.unwrap_or(&program))?)?;
        Ok(Exit::Good)
    }
}

fn write_all(context: &Context, program: &Command, folder: &Path, force: bool) -> Outcome {
    check_output_directory(folder)?;
    let made = Folder::make(folder)?;
    let pages: Vec<_> = [program].into_iter().chain(program.get_subcommands()).collect();
    for command in &pages {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let mut page = Product::create(context, &folder.join(format!("{name}.1")), force)?;
        page.put(&rendered(command)?)?;
        page.finish()?;
    }
    made.keep();
    writeln!(stdout(), "{}: {}", shown_path(folder), counted(pages.len() as u64, "man page"))?;
    Ok(Exit::Good)
}

/// A page with the sections that man pages usually have.
fn rendered(command: &Command) -> io::Result<Vec<u8>> {
    let (reads_urls, is_program) = (reads_urls(command.get_name()), command.has_subcommands());
    let page = Page::new(command.clone()).source(concat!("safetensors ", env!("CARGO_PKG_VERSION")));
    let text = &mut Vec::new();
    page.render_title(text)?;
    page.render_name_section(text)?;
    page.render_synopsis_section(text)?;
    page.render_description_section(text)?;
    page.render_options_section(text)?;
    if is_program {
        page.render_subcommands_section(text)?;
    }
    text.write_all(EXITS.as_bytes())?;
    if reads_urls {
        let mut extra = Vec::new();
        page.render_extra_section(&mut extra)?;
        let extra = String::from_utf8_lossy(&extra).replace(".SH EXTRA", ".SH LOCATIONS");
        // They follow.
        let extra = extra.replace("; `safetensors man` lists the other variables", "");
        text.write_all(extra.as_bytes())?;
        text.write_all(b".SH ENVIRONMENT\n")?;
        for (names, meaning) in VARIABLES {
            write!(text, ".TP\n{names}\n{meaning}\n")?;
        }
    }
    if is_program {
        page.render_version_section(text)?;
    }
    Ok(std::mem::take(text))
}

const EXITS: &str = ".SH \"EXIT STATUS\"
.TP
0
success
.TP
1
a file is invalid or not allowed, or the answer to the question is no
.TP
2
something could not be read or written, or bad usage
.TP
130
stopped by Ctrl\\-C or another request to end
";

/// The program with what its pages describe.
fn program() -> Command {
    // A page has the text of the rare options, too.
    let mut program = command_line().disable_help_subcommand(true).mut_args(|arg| arg.hide_short_help(false));
    // Gives the pages of commands their titles, such as `safetensors-check`.
    program.build();
    program
}
