//! `cargo xtask size [--json] [--write]`: what the library costs on microcontrollers, against its budgets and the reference.

use super::Command;
use crate::budget::Row;
use crate::process;
use crate::stages::Size;
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "size",
    about: "flash, RAM and instructions beside the reference's (--json: one object; --write: into the readme)",
    run,
};

fn run(words: &[String]) -> Result<ExitCode, String> {
    if let Some(word) = words.iter().find(|word| !["--json", "--write"].contains(&word.as_str())) {
        return Err(format!("what is \"{word}\"? usage: cargo xtask size [--json] [--write]"));
    }
    let asked = |flag: &str| words.iter().any(|word| word == flag);
    if asked("--json") {
        process::keep_stdout();
    }
    let size = Size::measure()?;
    let rows = size.rows()?;
    let text = if asked("--json") { size.json()? + "\n" } else { size.table()? };
    print!("{text}");
    if asked("--write") {
        size.write()?;
    }
    Ok(judge(&rows))
}

/// Whatever is not met yet is no success.
fn judge(rows: &[Row]) -> ExitCode {
    let broken: Vec<&Row> = rows.iter().filter(|row| !row.is_kept()).collect();
    for row in &broken {
        eprintln!("unmet: {}", row.sentence());
    }
    let budgets = rows.iter().filter(|row| row.limit.is_some()).count();
    eprintln!("{} of {budgets} budgets are kept", budgets - broken.len());
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Limit;

    #[test]
    fn what_it_does_not_know_it_does_not_take() {
        for word in ["--jsn", "size", "-w"] {
            assert!(run(&[word.to_owned()]).unwrap_err().contains(word));
        }
    }

    #[test]
    fn one_budget_that_is_exceeded_fails() {
        let row = |ours| Row {
            what: String::new(),
            limit: Some(Limit::AtMost(1.0)),
            ours,
            unit: "",
            reference: None,
        };
        let code = |rows: &[Row]| format!("{:?}", judge(rows));
        assert_eq!(code(&[row(1.0)]), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(code(&[row(1.0), row(2.0)]), format!("{:?}", ExitCode::FAILURE));
    }
}
