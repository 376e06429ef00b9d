//! `safetensors decode`: prints the contents of a header, for comparison with other readers.

use crate::commands::Run;
use crate::context::Context;
use crate::error::{Error, Outcome};
use crate::exit::Exit;
use crate::input::evidence::error_of;
use crate::input::model::is_sharded;
use crate::input::open::open;
use crate::input::source::Data;
use crate::input::validation::{SHORT, validate_source};
use crate::print::decoding::{Trouble, print};
use std::io;
use std::path::{Path, PathBuf};

/// Print a valid file's tensors and metadata as one JSON object
///
/// The output is what the runner of the conformance vectors expects. Exit code: 0 if the file is valid, 1 if
/// it is invalid (the reason goes to standard error, nothing to standard output), 2 if it cannot be read.
#[derive(clap::Args)]
pub struct Decode {
    /// File to decode; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

impl Run for Decode {
    fn run(self, context: &Context) -> Outcome {
        decode(context, &self.file)
    }
}

fn decode(context: &Context, file: &Path) -> Outcome {
    let not_read = |reason| Error::not_read(file, reason);
    if !file.is_dir() && is_sharded(context, file)? {
        return Err(Error::about(file, "has several files; give one of them"));
    }
    let mut source = open(context, file).map_err(not_read)?;
    match validate_source(&mut source, SHORT, Data::Keep) {
        Ok((summary, _)) => {
            let mut out = io::BufWriter::new(io::stdout().lock());
            match print(&mut source, &summary, &mut out) {
                Ok(()) => Ok(Exit::Good),
                Err(Trouble::Write(error)) => Err(error.into()),
                Err(Trouble::Read(reason)) => Err(not_read(reason)),
            }
        }
        Err(failure) => Err(error_of(file, &mut source, failure)),
    }
}
