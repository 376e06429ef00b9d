//! `cargo xtask bench`: how fast it is, beside the reference.

use super::Command;
use crate::bench::{self, Case, RUNS, budgets, report};
use crate::budget::{self, Row, number};
use crate::formats::Figures;
use crate::process;
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "bench",
    about: "how fast it is, beside the reference and floors (--json; --write: the pages that show it)",
    run,
};

fn run(words: &[String]) -> Result<ExitCode, String> {
    let (is_json, is_written) = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => (false, false),
        ["--json"] => (true, false),
        ["--write"] => (false, true),
        _ => return Err("`cargo xtask bench` takes --json or --write, or nothing".to_owned()),
    };
    if is_json {
        process::keep_stdout();
    }
    let (rows, cases) = budgets::measure_and_judge(&[], RUNS)?;
    if is_json {
        return print_json(rows, &cases);
    }
    print(&rows, &cases);
    if is_written {
        report::write(&rows, &cases)?;
    }
    Ok(verdict(&rows))
}

fn verdict(rows: &[Row]) -> ExitCode {
    if rows.iter().all(Row::is_kept) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// With the formats, which people have a command of their own for.
fn print_json(mut rows: Vec<Row>, cases: &[Case]) -> Result<ExitCode, String> {
    let formats = Figures::measure(false)?;
    rows.extend(formats.rows()?);
    let (cases, all) = (bench::json(cases), budget::json(&rows));
    println!(r#"{{"rows":{all},"cases":{cases},"formats":{}}}"#, formats.json());
    Ok(verdict(&rows))
}

fn print(rows: &[Row], cases: &[Case]) {
    for case in cases {
        println!("{}", line(case));
    }
    println!();
    for row in rows {
        println!("{}  {}", mark(row), row.sentence());
    }
}

fn mark(row: &Row) -> &'static str {
    match (row.limit, row.is_kept()) {
        (None, _) => "told ",
        (_, true) => "ok   ",
        (_, false) => "UNMET",
    }
}

/// `check, …: 41,000 ns; 12.1x as fast as the reference; from_utf8 takes 0.100x, memcpy 0.0510x of it`
fn line(case: &Case) -> String {
    let gain =
        case.gain().map_or(String::new(), |gain| format!("; {}x as fast as the reference", number(gain)));
    let floors =
        case.floors().map(|(name, nanos)| format!("; {}x the time of {name}", number(case.ours() / nanos)));
    format!("{}: {} ns{gain}{}", case.what, number(case.ours()), floors.collect::<String>())
}
