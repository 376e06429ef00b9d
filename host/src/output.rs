//! The two streams that a program speaks on.

use crate::exit::Exit;
use crate::failure::sentence;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// Says something on standard error. Where even that fails there is nobody left to tell.
pub fn complain(what: impl Display) {
    let _ = writeln!(io::stderr(), "{what}");
}

/// The end of the run when standard output takes no more. A reader that went away, as `head` does,
/// knows that it did.
pub fn cannot_write(error: &io::Error) -> Exit {
    if error.kind() != ErrorKind::BrokenPipe {
        complain(format_args!("safetensors: cannot write to standard output: {}", sentence(error)));
    }
    Exit::Failed
}
