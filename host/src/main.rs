//! `safetensors`: judges, inspects and decodes safetensors files.
#![forbid(unsafe_code)]

mod commands;
mod decoding;
mod excerpt;
mod exit;
mod failure;
mod header;
mod json;
mod judge;
mod locate;
mod open;
mod output;
mod report;
mod rows;
mod source;
mod table;
mod text;
mod verdict;

use clap::Parser;
use std::process::ExitCode;

/// Judges, inspects and decodes safetensors files.
#[derive(Parser)]
#[command(name = "safetensors", version, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    CommandLine::parse().command.run().into()
}
