//! Standard output and standard error.

use crate::error::not_read::sentence;
use crate::exit::Exit;
use crate::json;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, Write};

/// Prints to standard error. Failures are ignored: there is nowhere left to report them.
pub fn complain(what: impl Display) {
    let _ = writeln!(io::stderr(), "{what}");
}

/// Prints a value to standard output, as JSON or as text.
pub fn show(
    json: bool,
    value: &impl Serialize,
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match json {
        true => json::print(&mut out, value)?,
        false => text(&mut out)?,
    }
    out.flush()
}

/// Ends the run when standard output fails. Prints nothing if the reader went away, as `head` does.
pub fn cannot_write(error: &io::Error) -> Exit {
    if error.kind() != ErrorKind::BrokenPipe {
        complain(format_args!("safetensors: cannot write to standard output: {}", sentence(error)));
    }
    Exit::Failed
}
