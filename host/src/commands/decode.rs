//! `safetensors decode`: what a file says, for comparison with what other readers make of it.

use crate::decoding::{Trouble, print};
use crate::exit::Exit;
use crate::failure::{Failure, NotRead};
use crate::judge::judge;
use crate::open::open;
use crate::output::{cannot_write, complain};
use crate::report::Report;
use crate::source::Data;
use crate::text::shown_text;
use std::io;
use std::path::{Path, PathBuf};

/// Print a sound file's tensors and metadata as one JSON object.
///
/// This is the conformance runner protocol. Exit code: 0 if the file is sound, 1 if it is not, with
/// the reason on standard error and nothing on standard output, 2 if it could not be read.
#[derive(clap::Args)]
pub struct Decode {
    /// The file to decode; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

impl Decode {
    pub fn run(self) -> Exit {
        decode(&self.file).unwrap_or_else(|reason| {
            let file = shown_text(&self.file.to_string_lossy());
            complain(format_args!("{file}: cannot be read: {reason}"));
            Exit::NotRead
        })
    }
}

fn decode(file: &Path) -> Result<Exit, NotRead> {
    let mut source = open(file)?;
    match judge(&mut source, Data::Keep) {
        Ok(summary) => {
            let mut out = io::BufWriter::new(io::stdout().lock());
            match print(&mut source, &summary, &mut out) {
                Ok(()) => Ok(Exit::Sound),
                Err(Trouble::Write(error)) => Ok(cannot_write(&error)),
                Err(Trouble::Read(reason)) => Err(reason),
            }
        }
        Err(Failure::Unsound(error)) => {
            complain(Report::new(&mut source, error)?);
            Ok(Exit::Unsound)
        }
        Err(Failure::NotRead(reason)) => Err(reason),
    }
}
