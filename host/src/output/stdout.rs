//! Standard output and standard error.

use crate::error::not_read::sentence;
use crate::exit::Exit;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// Prints to standard error. Failures are ignored: there is nowhere left to report them.
pub fn complain(what: impl Display) {
    let _ = writeln!(io::stderr(), "{what}");
}

/// Ends the run when standard output fails. Prints nothing if the reader went away, as `head` does.
pub fn cannot_write(error: &io::Error) -> Exit {
    if error.kind() != ErrorKind::BrokenPipe {
        complain(format_args!("safetensors: cannot write to standard output: {}", sentence(error)));
    }
    Exit::Failed
}
