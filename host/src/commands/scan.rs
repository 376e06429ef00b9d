//! `safetensors scan`: what the pickles of a file would import and call.

use crate::commands::{Run, check_stdin_once};
use crate::context::Context;
use crate::error::not_read::NotRead;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::open::open_file;
use crate::input::walk::{PICKLES, expand_to};
use crate::scan::{Judged, scan_file};

use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

/// Show what the pickles in files would import and call, and whether `convert` allows it
///
/// Nothing is executed or imported. Pickles are files, entries of zip archives (also in one another), and
/// arrays of Python objects. In a directory, scans all files below it with the suffix of a format that may
/// have pickles. Exit code: 2 if at least one file cannot be scanned, otherwise 1 if at least one is damaged
/// or has something that is not on the closed list, otherwise 0.
#[derive(clap::Args)]
pub struct Scan {
    /// Show all that is imported and called, not only what is not on the list
    #[arg(long)]
    all: bool,

    /// Print one JSON object per file
    #[arg(long)]
    json: bool,

    /// Files or directories to scan; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Run for Scan {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self, _: &Context) -> Outcome {
        check_stdin_once(&self.files)?;
        let mut worst = Exit::Good;
        for (file, found) in self.files.iter().flat_map(|file| expand_to(file, &PICKLES)) {
            let judged = judge(&file, found);
            if self.json { judged.print_json(&file) } else { judged.print(&file, self.all) }?;
            worst = worst.max(judged.exit());
        }
        Ok(worst)
    }
}

fn judge(path: &Path, found: Result<(), NotRead>) -> Judged {
    let not_read = |reason: NotRead| Judged::Failed(Error::not_read(path, reason));
    let file = match found.and_then(|()| opened(path)) {
        Ok(file) => file,
        Err(reason) => return not_read(reason),
    };
    match scan_file(path, &file) {
        Ok(all) => Judged::Scanned(all),
        Err(error) => Judged::Failed(Error::of_contents(path, "pickle", error)),
    }
}

/// Opens a regular file, or copies standard input into an unnamed one.
fn opened(path: &Path) -> Result<File, NotRead> {
    if path.as_os_str() != "-" {
        return open_file(path).map(|(file, _)| file);
    }
    let copied = || {
        let mut copy = tempfile::tempfile()?;
        io::copy(&mut io::stdin().lock(), &mut copy)?;
        copy.rewind()?;
        Ok(copy)
    };
    copied().map_err(|error: io::Error| NotRead::not_buffered(&error, None))
}
