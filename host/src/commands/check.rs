//! `safetensors check`: a verdict for every file.

use crate::commands::{Files, Run};
use crate::complaint::Outcome;
use crate::judge::judge;
use crate::open::open;
use crate::source::Data;
use crate::verdict::Verdict;
use std::path::Path;

/// Prove files sound, or show what is wrong with them.
///
/// Reads the header of each file and no tensor. Exit code: 0 if all files are sound, 1 if at least
/// one is not, 2 if at least one could not be read.
#[derive(clap::Args)]
pub struct Check {
    #[command(flatten)]
    files: Files,
}

impl Run for Check {
    fn json(&self) -> bool {
        self.files.json()
    }

    fn run(self) -> Outcome {
        self.files.each(|file, json| {
            let verdict = verdict(file);
            if json { verdict.print_json(file) } else { verdict.print(file) }?;
            Ok(verdict.exit())
        })
    }
}

fn verdict(file: &Path) -> Verdict {
    let mut source = match open(file) {
        Ok(source) => source,
        Err(reason) => return Verdict::NotRead(reason),
    };
    let judgement = judge(&mut source, Data::Count);
    Verdict::new(&mut source, judgement)
}
