//! `mutants`: which single bugs of readers the vectors catch.
//!
//! A small reader is run with each of many bugs, on generated files and on the vectors. A bug that changes
//! what it reports of a generated file must change what it reports of a vector, too.

mod bugs;
mod entries;
mod generate;
mod json;
mod oracle;
mod pieces;
mod reader;
mod table;
mod text;

use std::process::ExitCode;

const USAGE: &str = "usage: mutants [--files COUNT | --lite | --oracle]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let problems = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => table::print(table::FILES),
        ["--files", count] => table::print(count.parse().unwrap_or(table::FILES)),
        ["--lite"] => table::write_lite(),
        ["--oracle"] => oracle::compare(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    for problem in &problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
