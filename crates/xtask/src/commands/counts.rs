//! `cargo xtask counts [--bless] [--json] [--write]`: instructions of the main paths, and memory of programs.

use super::Command;
use crate::budget::{self, Row, json_text};
use crate::{counts, process};
use std::process::ExitCode;

pub const COMMAND: Command = Command {
    name: "counts",
    about: "instructions and memory (--bless: the limits become these; --write: the pages; --json: for machines)",
    run,
};

fn run(words: &[String]) -> Result<ExitCode, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => Ok(Figures::measure()?.show(Figures::tables)),
        ["--json"] => {
            process::keep_stdout();
            Ok(Figures::measure()?.show(Figures::json))
        }
        ["--write"] => write(),
        ["--bless"] => bless(),
        _ => Err("usage: cargo xtask counts [--bless] [--write] [--json]".to_owned()),
    }
}

/// All that was measured.
struct Figures {
    counts: Vec<Row>,
    memory: Vec<Row>,
    /// What is wrong with the limits.
    faults: Vec<String>,
}

impl Figures {
    fn measure() -> Result<Self, String> {
        let (counts, faults) = counts::rows(&counts::count()?)?;
        Ok(Self { counts, memory: counts::memory()?, faults })
    }

    fn show(&self, text: fn(&Self) -> String) -> ExitCode {
        print!("{}", text(self));
        self.judge()
    }

    fn tables(&self) -> String {
        format!("{}\n{}", budget::show(&self.counts), budget::show(&self.memory))
    }

    /// One object.
    fn json(&self) -> String {
        let (counts, memory) = (budget::json(&self.counts), budget::json(&self.memory));
        let faults: Vec<String> = self.faults.iter().map(|fault| json_text(fault)).collect();
        format!("{{\"counts\":{counts},\"memory\":{memory},\"faults\":[{}]}}\n", faults.join(","))
    }

    /// Whatever takes too much is no success, nor is what has no limit.
    fn judge(&self) -> ExitCode {
        let mut rows = self.counts.iter().chain(&self.memory);
        self.faults.iter().for_each(|fault| eprintln!("{fault}"));
        if rows.all(Row::is_kept) && self.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// The tables of the pages; those of instructions are `limits.txt`.
fn write() -> Result<ExitCode, String> {
    let (heap, faults) = counts::rows_of(&counts::heap()?)?;
    let figures = Figures { counts: heap, memory: counts::memory()?, faults };
    counts::write_pages(&figures.counts, &figures.memory)?;
    Ok(figures.judge())
}

fn bless() -> Result<ExitCode, String> {
    counts::bless(&counts::count()?)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Limit;

    fn figures(ours: f64, fault: Option<&str>) -> Figures {
        let limit = Some(Limit::AtMost(1.0));
        let row = Row { what: "check".to_owned(), limit, ours, unit: "", reference: None };
        Figures {
            counts: vec![row],
            memory: Vec::new(),
            faults: fault.map(str::to_owned).into_iter().collect(),
        }
    }

    #[test]
    fn too_much_and_a_fault_of_the_limits_are_no_success() {
        let code = |ours, fault| format!("{:?}", figures(ours, fault).judge());
        let [good, bad] = [ExitCode::SUCCESS, ExitCode::FAILURE].map(|code| format!("{code:?}"));
        assert_eq!(code(1.0, None), good);
        assert_eq!([code(2.0, None), code(1.0, Some("there is no limit"))], [bad.clone(), bad]);
    }

    #[test]
    fn json_is_one_object_that_tells_of_faults() {
        let due = concat!(
            r#"{"counts":[{"what":"check","ours":1,"unit":"","at_most":1,"kept":true}],"#,
            r#""memory":[],"faults":["a \"b\""]}"#,
            "\n"
        );
        assert_eq!(figures(1.0, Some("a \"b\"")).json(), due);
    }
}
